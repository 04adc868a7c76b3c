import { hasEnded } from "../../task.ts";
import type { PanelTask } from "./panel-task.ts";

/** What the interface has just begun to show. */
export interface Beginning {
  /** The tasks of the conversation that is shown; of the whole directory where none is. */
  tasks: readonly PanelTask[];
  isConversation: boolean;
  /** When the interface began to hear of tasks, in epoch milliseconds: later ones are no news. */
  since: number;
}

/**
 * Says which tasks go on from before: after a restart of OpenCode, and after an `opencode run` that left them behind.
 * Undefined where none does.
 */
export const announcementOf = ({ tasks, isConversation, since }: Beginning): string | undefined => {
  const count = tasks.filter((task) => !hasEnded(task) && Date.parse(task.startedAt) < since).length;
  if (count === 0) return undefined;
  const what = count === 1 ? "1 task" : `${count} tasks`;
  return `${what} ${isConversation ? "of this conversation" : "of this directory"} ${count === 1 ? "goes" : "go"} on. /tasks lists ${count === 1 ? "it" : "them"}.`;
};
