import type { Task } from "../../task.ts";
import { duration } from "./duration.ts";
import type { ToolNames } from "./notice.ts";
import { lines, nameOf, type OwnText, own, quoteLine } from "./own-text.ts";

/** Characters of a description that are shown. */
const SHOWN_CHARS = 100;

type NamedTask = Pick<Task, "sessionID" | "description">;

/** Tells a person that a task has shown no sign of life for that many milliseconds. */
export const staleToast = ({ description }: NamedTask, silentFor: number): OwnText =>
  own`Task ${quoteLine(description, SHOWN_CHARS)} has shown no sign of life for ${duration(silentFor)}. It goes on, and may be stuck.`;

/** Tells the parent's agent the same, and what it can do. */
export const staleNote = ({ sessionID, description }: NamedTask, silentFor: number, { output }: ToolNames): OwnText =>
  lines(
    own`Automated. Task ${nameOf(sessionID)} ${quoteLine(description, SHOWN_CHARS)} has shown no sign of life for ${duration(silentFor)}. It may be stuck, or wait for its model.`,
    output === undefined
      ? ""
      : own`${nameOf(output)}(task_id=${quoteLine(sessionID)}) shows how far it has come. Cancel it if it is stuck; if not, it needs nothing from you.`,
  );
