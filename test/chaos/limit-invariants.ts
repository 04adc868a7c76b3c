import type { TaskEvent } from "../../src/machines/task/events.ts";
import { isSameModel, type Task } from "../../src/task.ts";
import type { Simulation } from "./simulation.ts";

/** No session has more tasks than it may. */
export const tooMany = ({ limits }: Simulation, stored: Task[]): string[] => {
  const byParent = Map.groupBy(stored, ({ parentSessionID }) => parentSessionID);
  return [...byParent].flatMap(([id, tasks]) =>
    tasks.length > limits.tasksPerParent ? `${id} has ${tasks.length} of ${limits.tasksPerParent} tasks` : [],
  );
};

const newest = <Type extends TaskEvent["type"]>(
  events: TaskEvent[],
  type: Type,
): Extract<TaskEvent, { type: Type }> | undefined =>
  events.findLast((event): event is Extract<TaskEvent, { type: Type }> => event.type === type);

/** The errors of runs that were stopped at a limit. */
const AT_LIMIT: ReadonlySet<string | undefined> = new Set(["budget", "loop", "timeout"]);

/** A run that was stopped at a limit ends in that limit's error, and keeps what its agent had said; no other has such an error. */
export const wronglyStopped = ({ stage: { store } }: Simulation, stored: Task[]): string[] =>
  stored.flatMap(({ sessionID, status, error, result }) => {
    const journal = store.journal(sessionID);
    // A run that was stopped before may have been retried, and ended otherwise then.
    const event = newest(journal.slice(journal.findLastIndex(({ type }) => type === "RETRY") + 1), "LIMIT_EXCEEDED");
    if (!event) {
      return AT_LIMIT.has(error?.kind)
        ? [`${sessionID} met no limit, and has ended with the error ${error?.kind}`]
        : [];
    }
    const isSo = status === "error" && error?.kind === event.error.kind && result === event.said;
    return isSo
      ? []
      : `${sessionID} was stopped with the error ${event.error.kind} and the words "${event.said}", and is ${status} with ${error?.kind} and "${result}"`;
  });

/** A run goes on with the models of its agent's list only, in their order, and only where one was refused. */
export const wronglyChanged = ({ stage: { store }, limits, tracks }: Simulation, stored: Task[]): string[] =>
  stored.flatMap(({ sessionID, agent }) => {
    const list = limits.fallback.agents[agent] ?? [];
    let place = -1;
    return store.journal(sessionID).flatMap((event) => {
      if (event.type === "RESUME" || event.type === "RETRY") place = -1;
      if (event.type !== "MODEL_CHANGED") return [];
      const next = list.findIndex((model) => isSameModel(model, event.model));
      const isInOrder = next > place;
      place = next;
      return [
        ...(isInOrder ? [] : [`${sessionID} goes on with ${event.model.modelID}, which is not next in its list`]),
        ...(tracks.wasRefused(sessionID) ? [] : [`${sessionID} changes its model, which nobody refused`]),
      ];
    });
  });
