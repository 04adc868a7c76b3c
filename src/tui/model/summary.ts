import { addUp, hasEnded, type Usage } from "../../task.ts";
import { openRequests } from "./open-requests.ts";
import type { PanelTask } from "./panel-task.ts";
import { isQueued } from "./rows.ts";

/** The sums over the tasks of a conversation. Each task that has not ended counts in one of the first three. */
export interface Summary {
  /** Tasks whose own request a person has to answer. */
  waitingForPerson: number;
  running: number;
  /** Tasks that wait for a slot, or for a server of the fleet. */
  queued: number;
  ended: number;
  /** What all tasks used together. */
  usage: Usage;
}

/** Counts the tasks of a conversation, and adds up what they used. */
export const summarize = (tasks: readonly PanelTask[]): Summary => {
  const asking = new Set(openRequests(tasks).map(({ task }) => task.sessionID));
  const live = tasks.filter((task) => !hasEnded(task) && !asking.has(task.sessionID));
  const queued = live.filter(isQueued).length;
  return {
    waitingForPerson: asking.size,
    running: live.length - queued,
    queued,
    ended: tasks.filter(hasEnded).length,
    usage: addUp(tasks.map(({ progress }) => progress)),
  };
};

/** True when something goes on, or waits for a person. */
export const isActive = ({ waitingForPerson, running, queued }: Summary): boolean =>
  waitingForPerson + running + queued > 0;
