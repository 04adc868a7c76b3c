import type { UserRequest } from "../../src/machines/task/events.ts";
import { hasEnded, type Task } from "../../src/task.ts";
import type { UserReply } from "../../src/user-request.ts";
import type { ApiRequest } from "./api.ts";
import { wasStopped } from "./choosing.ts";
import type { Simulation } from "./simulation.ts";

/** What every instruction says. */
export const INSTRUCTION = "Faster.";

type AskedByApi = Exclude<ApiRequest["kind"], "answer">;

/** The tasks for which each request of the API is meant. */
export const fitsApi: Record<AskedByApi, (task: Task) => boolean> = {
  cancel: (task) => !hasEnded(task),
  steer: (task) => !hasEnded(task),
  resume: ({ status }) => status === "completed",
  retry: wasStopped,
};

/** A person cancels, resumes, retries or steers a task by the status API. */
export const askByApi = (world: Simulation, task: Task | undefined, kind: AskedByApi): void => {
  if (!task) return;
  const { sessionID: taskId } = task;
  world.sequence.note("engine", `a person asks the API to ${kind} ${taskId}`);
  if (kind === "cancel") world.tracks.mayEnd(taskId);
  if (kind === "resume" || kind === "retry") world.tracks.mayGoOn(taskId);
  // No two are the same, so that each can be found again.
  const said = `${kind === "steer" ? INSTRUCTION : "And now?"} Request ${world.apiRequests.count() + 1}.`;
  world.api.send(kind === "cancel" ? { kind, taskId } : { kind, taskId, prompt: said });
};

const replyTo = ({ id: requestId, kind }: UserRequest, answer: "grant" | "reject" | "unfit"): UserReply => {
  if (answer === "reject") return { requestId, reply: "reject" };
  const isPermission = (kind === "permission") === (answer === "grant");
  return isPermission ? { requestId, reply: "once" } : { requestId, answers: [["yes"]] };
};

/** People answer the oldest request of a task by the status API, and one of them perhaps in OpenCode. */
export const answerByApi = (
  world: Simulation,
  { sessionID: taskId }: Task,
  { answer, times, alsoInOpenCode }: { answer: "grant" | "reject" | "unfit"; times: number; alsoInOpenCode: boolean },
): void => {
  const asked = world.stage.store.get(taskId)?.snapshot.context.userRequests[0];
  if (!asked) return;
  world.sequence.note("engine", `a person answers ${asked.id} by the API: ${answer}`);
  for (let time = 0; time < times; time += 1) {
    world.api.send({ kind: "answer", taskId, reply: replyTo(asked, answer), isFit: answer !== "unfit" });
  }
  if (alsoInOpenCode && world.host.openRequests.has(asked.id)) {
    world.host.emit({ type: "replied", sessionID: taskId, requestID: asked.id });
  }
};
