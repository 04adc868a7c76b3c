// ADR-062 in docs/decisions.md
import type { Task } from "../../task.ts";
import type { UserReply } from "../../user-request.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import type { Failure, Outcome } from "../platform/result.ts";
import type { CommandOutcome, PendingCommand, Store } from "../store/store.ts";
import type { CancelResult } from "./cancel.ts";
import type { ResumeRequest } from "./resume.ts";
import type { SteerRequest } from "./steer.ts";

/** Dependencies of executing remote commands. */
export interface RemoteCommandDeps {
  store: Pick<Store, "takeCommands" | "storeOutcome">;
  log: Log;
  get(taskId: string): Task | undefined;
  cancel(taskIds: string[]): Promise<CancelResult[]>;
  resume(request: ResumeRequest): Promise<Outcome<Task>>;
  steer(request: SteerRequest): Outcome<Task>;
  answer(taskId: string, answer: UserReply): Promise<Outcome<void>>;
}

const toCommandOutcome = ({ reason, cause: liesWith }: Failure): CommandOutcome => ({
  refused: reason,
  ...(liesWith === "host" ? { liesWith } : {}),
});

/**
 * Creates a function that executes the commands which other processes and the status API have stored for the tasks that
 * this process supervises, and stores their outcomes. It returns at once; the commands run in the background.
 */
export const createRemoteCommands = ({ store, log, get, cancel, resume, steer, answer }: RemoteCommandDeps) => {
  const execute = async ({ taskId, command }: PendingCommand): Promise<CommandOutcome> => {
    const task = get(taskId);
    if (!task) return { refused: `Task ${taskId} no longer exists.` };
    if (command.kind === "cancel") {
      const [cancelled] = await cancel([taskId]);
      return cancelled?.refused === undefined ? {} : { refused: `Task ${taskId} ${cancelled.refused}.` };
    }
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
    const resumed = await resume({ parentSessionID, taskId, prompt: command.prompt, agent: undefined, signal });
    return resumed.ok ? {} : toCommandOutcome(resumed);
  };

  return (): void => {
    for (const command of store.takeCommands()) {
      execute(command)
        .catch((error) => ({ refused: `A fault in opencode-taskchart: ${errorMessage(error)}` }))
        .then((outcome) => store.storeOutcome(command.id, outcome))
        .catch((error) =>
          log.error("could not store the outcome of a command", { ...command, reason: errorMessage(error) }),
        );
    }
  };
};
