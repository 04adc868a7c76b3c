import { hasEnded } from "../../task.ts";
import type { OpenUserRequest } from "../../user-request.ts";
import type { PanelTask } from "./panel-task.ts";

/** A request that a person has to answer, and the task whose agent asks. */
export interface AskedRequest {
  task: PanelTask;
  request: OpenUserRequest;
}

/**
 * Returns the open requests of tasks, each once, oldest first. A request also stands in the tasks above the one that asks;
 * the newest of them is the nearest.
 */
export const openRequests = (tasks: readonly PanelTask[]): AskedRequest[] => {
  const nearest = new Map<string, AskedRequest>();
  for (const task of tasks.filter((candidate) => !hasEnded(candidate))) {
    for (const request of task.attention?.requests ?? []) {
      const known = nearest.get(request.id);
      if (!known || known.task.startedAt < task.startedAt) nearest.set(request.id, { task, request });
    }
  }
  return [...nearest.values()].sort((a, b) => a.request.since.localeCompare(b.request.since));
};
