import { join, type OwnText, own, quoteLine } from "./own-text.ts";
import { SHORT_CHARS } from "./user-request.ts";

/**
 * Tells a person how many runs this process has taken over from another one and goes on with, and which of their requests
 * are open no more.
 */
export const takeoverToast = (count: number, lostRequests: readonly string[]): OwnText => {
  const tasks = count === 1 ? own`1 task` : own`${count} tasks`;
  const takenOver = own`Took over ${tasks} of an OpenCode that has ended or does not answer.`;
  if (lostRequests.length === 0) return takenOver;
  const requests = join(
    lostRequests.map((what) => quoteLine(what, SHORT_CHARS)),
    ", ",
  );
  return own`${takenOver} These requests were lost with it: ${requests}. That step is done again, and you may be asked again.`;
};

/** Tells the agent of a task why its tool call was not made: it is stopped at that moment. */
export const WORKED_ON_ELSEWHERE =
  "This call was not made: OpenCode was held up, and another OpenCode process has taken over this task and goes on with it there.";
