import { hasEnded } from "../../task.ts";
import type { PanelTask } from "./panel-task.ts";

/** Milliseconds within which what is interrupted counts as interrupted by the same event, such as the end of an OpenCode. */
const TOGETHER_MS = 30_000;

/** What the interface shows. */
export interface Shown {
  /** The tasks of the conversation that is shown; of the whole directory where none is. */
  tasks: readonly PanelTask[];
  isConversation: boolean;
  /**
   * Epoch milliseconds. What was interrupted up to then is not announced: it was before, or it had gone on before the interface
   * began.
   */
  after: number;
}

export interface Announcement {
  message: string;
  /** When the newest of these tasks was interrupted, epoch milliseconds. */
  upTo: number;
}

/**
 * Says which tasks were interrupted and go on: after a restart of OpenCode, and after an `opencode run` that left them behind.
 * Undefined where none was, or that is no news.
 */
export const announcementOf = ({ tasks, isConversation, after }: Shown): Announcement | undefined => {
  const interruptions = tasks.flatMap((task) =>
    hasEnded(task) || task.interruptedAt === undefined ? [] : Date.parse(task.interruptedAt),
  );
  const upTo = Math.max(...interruptions);
  if (!(upTo > after)) return undefined;
  const count = interruptions.filter((at) => upTo - at <= TOGETHER_MS).length;
  const what = count === 1 ? "1 task" : `${count} tasks`;
  const where = isConversation ? "of this conversation" : "of this directory";
  const [verb, object] = count === 1 ? ["goes", "it"] : ["go", "them"];
  return { message: `${what} ${where} ${verb} on. /tasks lists ${object}.`, upTo };
};
