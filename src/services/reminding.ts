import type { Task } from "../task.ts";
import type { Clock } from "./clock.ts";
import type { Completing } from "./completing.ts";
import type { Host } from "./host.ts";
import type { Ids } from "./ids.ts";
import { type Log, reasonOf } from "./log.ts";
import { taskContext } from "./task-context.ts";
import type { ToolNames } from "./tool-names.ts";

/** What reminders are made from. */
export interface RemindingParts {
  host: Host;
  clock: Clock;
  ids: Ids;
  log: Log;
  tools: ToolNames;
  completing: Completing;
  /** The tasks that a session launched, in the order of their launch. */
  tasksOf(sessionID: string): Task[];
}

/** Reminds agents of their tasks when their conversations are summed up. */
export interface Reminding {
  /** For whoever sums up the conversation of a session; undefined where it has no tasks. */
  contextOf(sessionID: string): string | undefined;
  /** A conversation was summed up: its agent is reminded, by a message that starts no turn. */
  compacted(sessionID: string): void;
  stop(): void;
}

/** Milliseconds to the next try, where the host fails, and how often it is tried. */
const AGAIN = 5_000;
const TRIES = 10;

export const createReminding = (parts: RemindingParts): Reminding => {
  const { host, clock, ids, log, tools, completing, tasksOf } = parts;
  let stopped = false;

  const contextOf = (sessionID: string) => taskContext(tasksOf(sessionID), tools);

  const remind = async (sessionID: string, text: string): Promise<void> => {
    const message = { messageID: ids.message(), parts: ids.parts(1).map((id) => ({ id, text, synthetic: true })) };
    // A session that works on at once would be shown the message before its text is stored.
    completing.expect(sessionID, message);
    for (let tries = 0; tries < TRIES && !stopped; tries += 1) {
      const session = await host.session(sessionID);
      const sent = session.ok
        ? await host.prompt({
            sessionID,
            ...message,
            agent: session.value.agent,
            model: session.value.model,
            noReply: true,
          })
        : session;
      if (sent.ok) return;
      if (sent.failure.kind === "notFound") return completing.forget(sessionID);
      log.error("an agent could not be reminded of its tasks", { sessionID, reason: sent.failure.message });
      await new Promise<void>((resolve) => void clock.after(AGAIN, resolve));
    }
  };

  return {
    contextOf,
    compacted: (sessionID) => {
      const text = contextOf(sessionID);
      if (text === undefined) return;
      remind(sessionID, text).catch((error) => {
        log.error("an agent could not be reminded of its tasks", { sessionID, reason: reasonOf(error) });
      });
    },
    stop: () => {
      stopped = true;
    },
  };
};
