// Whether a model was asked with an instruction, only what OpenCode stores can say: an assistant message that began after it, and
// answers it or something newer (docs/decisions/303-an-instruction-is-seen-or-missed.md).
import type { HostEvent, MessageInfo } from "../../machines/host-events.ts";
import type { Host } from "../host/host.ts";
import type { Clock } from "../platform/clock.ts";
import { ALL_MESSAGES, createEarlierMessages, newestTakenIn } from "./run-outcome.ts";
import type { Runtime } from "./runtime.ts";

/**
 * Creates what finds out which instructions the agents of runs under way have seen, and says so to their charts: at each step,
 * and from all that OpenCode has stored, where events may be missing.
 */
export const createSeenInstructions = ({
  host,
  clock,
  runtime,
}: {
  host: Pick<Host, "messages">;
  clock: Pick<Clock, "now">;
  runtime: Pick<Runtime, "snapshotOf" | "send">;
}) => {
  /** The messages that were written to each session whose task is at work, by their ids: the host's events show them. */
  const written = new Map<string, Map<string, MessageInfo>>();
  const earlierOf = createEarlierMessages();

  const unseenIn = (taskId: string): string[] => {
    const { given = [], completedAt } = runtime.snapshotOf(taskId)?.context ?? {};
    if (completedAt !== undefined) return [];
    return given.flatMap(({ messageID, seenAt }) => (seenAt === undefined ? messageID : []));
  };

  const report = (taskId: string, unseen: string[], messages: MessageInfo[]) => {
    const at = clock.now();
    const messageID = newestTakenIn(unseen, messages, earlierOf(messages, at));
    if (messageID !== undefined) runtime.send(taskId, { type: "INSTRUCTION_SEEN", at, messageID });
  };

  return {
    /** Handles an event of a session whose run is under way. */
    onHostEvent: ({ sessionID, message }: Extract<HostEvent, { type: "message" }>) => {
      const known = written.get(sessionID) ?? new Map<string, MessageInfo>();
      if (message.role === "user") {
        written.set(sessionID, known.set(message.id, message));
        return;
      }
      const unseen = unseenIn(sessionID);
      if (unseen.length > 0) report(sessionID, unseen, [...known.values(), message]);
    },
    /** Looks through what the host has stored: a run is about to end, and what its agent saw may have been seen by no process. */
    look: async (taskId: string): Promise<void> => {
      if (unseenIn(taskId).length === 0) return;
      const messages = await host.messages(taskId, ALL_MESSAGES);
      // Where the host does not say it, what was seen of the run counts.
      if (messages.ok) report(taskId, unseenIn(taskId), messages.value);
    },
    forget: (sessionID: string) => {
      written.delete(sessionID);
    },
  };
};
