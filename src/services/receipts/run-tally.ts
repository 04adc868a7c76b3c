import type { HostEvent } from "../../machines/host-events.ts";
import type { Receipt } from "../../receipt.ts";
import { composeReceipt, type ObservedCall, type ObservedRun } from "./compose-receipt.ts";
import type { Span } from "./time-spans.ts";

/** Creates the tally of what the host reports of one run. Each thing counts once, however often it is reported. */
export const createRunTally = () => {
  const calls = new Map<string, ObservedCall>();
  const steps = new Map<string, { tokens: number; cost: number }>();
  const changes = new Map<string, readonly string[]>();
  const messages = new Map<string, Span>();
  /** When a person was waited for: from the first of several requests until all are answered. */
  const requests: Span[] = [];
  let openRequests = 0;

  const endRequests = (at: number) => {
    const newest = requests.at(-1);
    if (newest) newest.to ??= at;
    openRequests = 0;
  };

  return {
    /** Takes an event of the child, or of a session below it that has no task of its own. `at` is epoch milliseconds. */
    onHostEvent: (event: HostEvent, at: number) => {
      switch (event.type) {
        case "toolCall": {
          const { sessionID, callID, tool, stage, effect } = event;
          const key = `${sessionID} ${callID}`;
          // That it began may be reported once more, later.
          if (stage !== "begun" || !calls.has(key)) calls.set(key, { tool, stage, effect });
          return;
        }
        case "step":
          steps.set(event.partID, { tokens: event.tokens, cost: event.cost });
          return;
        case "filesChanged":
          changes.set(event.partID, event.files);
          return;
        case "message": {
          const { id, role, createdAt, completedAt } = event.message;
          if (role === "assistant") messages.set(id, { from: createdAt, to: completedAt });
          return;
        }
        case "asked":
          if (openRequests === 0) requests.push({ from: at, to: undefined });
          openRequests += 1;
          return;
        case "replied":
          if (openRequests === 1) endRequests(at);
          openRequests = Math.max(0, openRequests - 1);
          return;
        case "idle":
          endRequests(at);
          return;
      }
    },
    /** Writes the receipt of the run, which ended. Times are epoch milliseconds. */
    receipt: (
      run: Pick<ObservedRun, "index" | "startedAt" | "endedAt" | "directory" | "isWhole" | "gate" | "incomplete">,
    ): Receipt =>
      composeReceipt({
        ...run,
        calls: [...calls.values()],
        steps: [...steps.values()],
        changedFiles: [...changes.values()].flat(),
        messages: [...messages.values()],
        requests,
      }),
  };
};

export type RunTally = ReturnType<typeof createRunTally>;
