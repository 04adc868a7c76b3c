import type { Task } from "../../task.ts";
import type { Answer } from "../../user-request.ts";
import { type Log, reasonOf } from "../platform/log.ts";
import type { Outcome, Refusal } from "../platform/result.ts";
import type { Store } from "../store/store.ts";
import type { AskedRequest, RequestAnswer } from "../store/task-history.ts";
import type { Cancelled } from "./cancel.ts";
import type { ResumeRequest } from "./resume.ts";

/** What requests are fulfilled with. */
export interface RequestParts {
  store: Store;
  log: Log;
  get(taskId: string): Task | undefined;
  cancel(taskIds: string[]): Promise<Cancelled[]>;
  resume(request: ResumeRequest): Promise<Outcome<Task>>;
  answer(taskId: string, answer: Answer): Promise<Outcome<void>>;
}

const refusedBy = ({ reason, liesWith }: Refusal): RequestAnswer => ({
  refused: reason,
  ...(liesWith === "host" ? { liesWith } : {}),
});

/** Fulfils what other processes, and the status API, have asked of the tasks that this process supervises. */
export const createFulfilling = ({ store, log, get, cancel, resume, answer }: RequestParts) => {
  const fulfil = async ({ taskId, request }: AskedRequest): Promise<RequestAnswer> => {
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
    for (const asked of store.takeRequests()) {
      fulfil(asked)
        .catch((error) => ({ refused: `A fault in opencode-taskchart: ${reasonOf(error)}` }))
        .then((answer) => store.answer(asked.id, answer))
        .catch((error) => log.error("a request could not be answered", { ...asked, reason: reasonOf(error) }));
    }
  };
};
