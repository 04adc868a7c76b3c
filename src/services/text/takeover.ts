import { type OwnText, own } from "./own-text.ts";

/** Tells a person how many tasks this process has taken over from another one, which has ended. */
export const takeoverToast = (count: number): OwnText =>
  count === 1
    ? own`Took over 1 task of an OpenCode that has ended.`
    : own`Took over ${count} tasks of an OpenCode that has ended.`;
