import { nameOf, type OwnText, own, quoteLine } from "./own-text.ts";

/** The names of the tools that an agent has, for texts that say what to do next; undefined where it has no such tool. */
export interface ToolNames {
  /** The tool that launches a task. */
  launch: string;
  /** The tool that shows the status and result of a task. */
  output: string | undefined;
  /** The tool that lists the tasks. */
  list: string | undefined;
  /** The tool that sends a completed task a follow-up prompt. */
  resume: string | undefined;
}

/** Writes the tool call that reads a task's result. */
export const outputCall = (output: string, taskId: string): OwnText =>
  own`${nameOf(output)}(task_id=${quoteLine(taskId)})`;
