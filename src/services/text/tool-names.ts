import { nameOf, type OwnText, own, quoteLine } from "./own-text.ts";

/** What the tools of an agent are called, for texts that say what to do next. Undefined where no tool does that. */
export interface ToolNames {
  /** Launches a task. */
  launch: string;
  /** Shows how a task stands, and what it answered. */
  output: string | undefined;
  list: string | undefined;
  /** Sends a completed task a follow-up. */
  resume: string | undefined;
}

/** The call that reads a task's answer. */
export const outputCall = (output: string, taskId: string): OwnText =>
  own`${nameOf(output)}(task_id=${quoteLine(taskId)})`;
