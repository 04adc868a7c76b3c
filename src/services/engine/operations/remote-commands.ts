import type { Task } from "../../../task.ts";
import type { UserReply } from "../../../user-request.ts";
import { errorMessage, type Log, logFault } from "../../platform/log.ts";
import type { Failure, Outcome } from "../../platform/result.ts";
import type { CommandOutcome, RemoteCommand, Store } from "../../store/store.ts";
import type { CancelResult, ResumeRequest, RetryRequest, SteerRequest } from "../requests.ts";

/** What may be asked for from outside. */
export interface RemoteOperations {
  get(taskId: string): Task | undefined;
  cancel(taskIds: string[]): Promise<CancelResult[]>;
  pause(taskIds: string[], by: "person"): Promise<CancelResult[]>;
  continue(taskIds: string[]): Promise<CancelResult[]>;
  resume(request: ResumeRequest): Promise<Outcome<Task>>;
  retry(request: RetryRequest): Promise<Outcome<Task>>;
  steer(request: SteerRequest): Outcome<Task>;
  answer(taskId: string, answer: UserReply): Promise<Outcome<void>>;
}

const toCommandOutcome = ({ reason, cause: liesWith }: Failure): CommandOutcome => ({
  refused: reason,
  ...(liesWith === "host" ? { liesWith } : {}),
});

const outcomeOf = ([one]: CancelResult[]): CommandOutcome =>
  one?.refused === undefined ? {} : { refused: `Task ${one.task.sessionID} ${one.refused}.` };

const perform = async (
  { get, cancel, pause, continue: continueTasks, resume, retry, steer, answer }: RemoteOperations,
  taskId: string,
  command: RemoteCommand,
): Promise<CommandOutcome> => {
  const task = get(taskId);
  if (!task) return { refused: `Task ${taskId} no longer exists.` };
  if (command.kind === "cancel") return outcomeOf(await cancel([taskId]));
  if (command.kind === "pause") return outcomeOf(await pause([taskId], "person"));
  if (command.kind === "continue") return outcomeOf(await continueTasks([taskId]));
  if (command.kind === "answer") {
    const answered = await answer(taskId, command.answer);
    return answered.ok ? {} : toCommandOutcome(answered);
  }
  const { parentSessionID } = task;
  if (command.kind === "steer") {
    const steered = steer({ parentSessionID, taskId, prompt: command.prompt, from: "user" });
    return steered.ok ? {} : toCommandOutcome(steered);
  }
  const { signal } = new AbortController();
  const asked = { parentSessionID, taskId, agent: undefined, signal };
  const begun = await (command.kind === "resume"
    ? resume({ ...asked, prompt: command.prompt })
    : retry({ ...asked, prompt: command.prompt, model: command.model }));
  return begun.ok ? {} : toCommandOutcome(begun);
};

/** Executes a person's command for a task of this process. A fault is an outcome too, of which the caller learns. */
export const executeCommand = (
  operations: RemoteOperations,
  taskId: string,
  command: RemoteCommand,
): Promise<CommandOutcome> =>
  perform(operations, taskId, command).catch((error) => ({
    refused: `A fault in opencode-taskchart: ${errorMessage(error)}`,
  }));

/**
 * Executes the commands that the store has for the tasks which this process supervises or may claim, and stores their
 * outcomes. Returns at once: the commands are executed in the background.
 */
export const runRemoteCommands = (
  { store, log }: { store: Pick<Store, "takeCommands" | "storeOutcome">; log: Log },
  operations: RemoteOperations,
): void => {
  for (const pending of store.takeCommands()) {
    executeCommand(operations, pending.taskId, pending.command)
      .then((outcome) => store.storeOutcome(pending.id, outcome))
      .catch(logFault(log, "could not store the outcome of a command", pending));
  }
};
