import { hasEnded } from "../../task.ts";
import type { PanelTask } from "./panel-task.ts";

/** What the interface has just begun to show. */
export interface Beginning {
  /** The tasks of the conversation that is shown; of the whole directory where none is. */
  tasks: readonly PanelTask[];
  isConversation: boolean;
  /** When this OpenCode began, in epoch milliseconds: what was interrupted before that had gone on elsewhere, and is no news. */
  since: number;
}

/**
 * Says which tasks were interrupted and go on: after a restart of OpenCode, and after an `opencode run` that left them behind.
 * Undefined where none was.
 */
export const announcementOf = ({ tasks, isConversation, since }: Beginning): string | undefined => {
  const isInterrupted = ({ interruptedAt }: PanelTask) =>
    interruptedAt !== undefined && Date.parse(interruptedAt) >= since;
  const count = tasks.filter((task) => !hasEnded(task) && isInterrupted(task)).length;
  if (count === 0) return undefined;
  const what = count === 1 ? "1 task" : `${count} tasks`;
  return `${what} ${isConversation ? "of this conversation" : "of this directory"} ${count === 1 ? "goes" : "go"} on. /tasks lists ${count === 1 ? "it" : "them"}.`;
};
