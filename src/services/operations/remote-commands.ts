import type { Task } from "../../task.ts";
import type { UserReply } from "../../user-request.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import type { Failure, Outcome } from "../platform/result.ts";
import type { Store } from "../store/store.ts";
import type { CommandOutcome, PendingCommand } from "../store/task-history.ts";
import type { CancelResult } from "./cancel.ts";
import type { ResumeRequest } from "./resume.ts";

/** What requests are fulfilled with. */
export interface RemoteCommandDeps {
  store: Store;
  log: Log;
  get(taskId: string): Task | undefined;
  cancel(taskIds: string[]): Promise<CancelResult[]>;
  resume(request: ResumeRequest): Promise<Outcome<Task>>;
  answer(taskId: string, answer: UserReply): Promise<Outcome<void>>;
}

const refusedBy = ({ reason, cause: liesWith }: Failure): CommandOutcome => ({
  refused: reason,
  ...(liesWith === "host" ? { liesWith } : {}),
});

/** Fulfils what other processes, and the status API, have asked of the tasks that this process supervises. */
export const createRemoteCommands = ({ store, log, get, cancel, resume, answer }: RemoteCommandDeps) => {
  const fulfil = async ({ taskId, request }: PendingCommand): Promise<CommandOutcome> => {
    const task = get(taskId);
    if (!task) return { refused: `There is no task ${taskId} any more.` };
    if (request.kind === "cancel") {
      const [cancelled] = await cancel([taskId]);
      return cancelled?.refused === undefined ? {} : { refused: `Task ${taskId} ${cancelled.refused}.` };
    }
    if (request.kind === "answer") {
      const answered = await answer(taskId, request.answer);
      return answered.ok ? {} : refusedBy(answered);
    }
    const { signal } = new AbortController();
    const { parentSessionID } = task;
    const resumed = await resume({ parentSessionID, taskId, prompt: request.prompt, agent: undefined, signal });
    return resumed.ok ? {} : refusedBy(resumed);
  };

  return (): void => {
    for (const asked of store.takeCommands()) {
      fulfil(asked)
        .catch((error) => ({ refused: `A fault in opencode-taskchart: ${errorMessage(error)}` }))
        .then((answer) => store.storeOutcome(asked.id, answer))
        .catch((error) => log.error("a request could not be answered", { ...asked, reason: errorMessage(error) }));
    }
  };
};
