// ADR-140, ADR-206 in docs/decisions.md
import type { TaskError } from "../../task.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** What a run is ended with. */
export interface EndRunDeps {
  runtime: Runtime;
  clock: Clock;
  log: Log;
  /** Reads what the child said last after the message with that id; undefined when it said nothing. */
  lastWords(sessionID: string, messageID: string): Promise<string | undefined>;
  /** Cancels the tasks of a session that takes no more notices. */
  cancelChildren(sessionID: string): Promise<void>;
}

/**
 * Ends the run of a task that is beyond a limit. Does nothing while that is under way, or when the run is not under way.
 * `mayEnd` is asked at the last moment, when the last words are read: the host may take seconds for them, and a run that may
 * not be ended by then goes on. Default: it may, since what is used stays used.
 */
export type EndRun = (taskId: string, error: TaskError, mayEnd?: () => boolean) => void;

/** Creates the function that ends runs. */
export const createEndRun = ({ runtime, clock, log, lastWords, cancelChildren }: EndRunDeps): EndRun => {
  /** Tasks whose last words are being read. */
  const ending = new Set<string>();

  const end = async (taskId: string, error: TaskError, mayEnd: () => boolean): Promise<void> => {
    const run = runtime.snapshotOf(taskId)?.context.run;
    if (!run) return;
    // Read before the stop, while the host surely has the session.
    const said = await lastWords(taskId, run.messageID).catch((reason) => {
      log.error("the last words of a task could not be read", { taskId, reason: errorMessage(reason) });
      return undefined;
    });
    if (runtime.snapshotOf(taskId)?.context.run.index !== run.index || !mayEnd()) return;
    runtime.send(taskId, { type: "LIMIT_EXCEEDED", at: clock.now(), error, ...(said === undefined ? {} : { said }) });
    // At once, as when a person cancels: the notices of these tasks would wake the session that is being stopped.
    if (runtime.snapshotOf(taskId)?.hasTag("stopping")) await cancelChildren(taskId);
  };

  return (taskId, error, mayEnd = () => true) => {
    const snapshot = runtime.snapshotOf(taskId);
    if (ending.has(taskId) || !snapshot?.can({ type: "LIMIT_EXCEEDED", at: clock.now(), error })) return;
    ending.add(taskId);
    end(taskId, error, mayEnd)
      .catch((reason) => log.error("a task beyond its limit was not ended", { taskId, reason: errorMessage(reason) }))
      .finally(() => ending.delete(taskId));
  };
};
