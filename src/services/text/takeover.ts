import { type OwnText, own } from "./own-text.ts";

/** Tells a person how many tasks this process has taken over from another one, which has ended. */
export const takeoverToast = (count: number): OwnText =>
  count === 1
    ? own`Took over 1 task of an OpenCode that has ended.`
    : own`Took over ${count} tasks of an OpenCode that has ended.`;

/** Tells the agent of a task why its tool call was not made: it is stopped at that moment. */
export const WORKED_ON_ELSEWHERE =
  "This call was not made: OpenCode was held up, and another OpenCode process has taken over this task and goes on with it there.";
