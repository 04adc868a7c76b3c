import type { ApiResult } from "./api-result.ts";
import type { ApiTask } from "./api-types.ts";
import type { StatusApiClient } from "./status-api-client.ts";

/** Returns the tasks below a task among these, at any depth, the nearest first. */
export const descendantsOf = (id: string, tasks: readonly ApiTask[]): ApiTask[] => {
  const children = tasks.filter(({ parentTaskId }) => parentTaskId === id);
  return [...children, ...children.flatMap(({ sessionID }) => descendantsOf(sessionID, tasks))];
};

/**
 * Returns the tasks that a session launched, and those below them at any depth: ended ones too, however long ago that was.
 * Those nearest to the session come first, and of one parent the newest; at most `most` of them.
 */
export const tasksBelow = async (
  client: Pick<StatusApiClient, "allTasks">,
  sessionID: string,
  most: number,
): Promise<ApiResult<ApiTask[]>> => {
  const found = new Map<string, ApiTask>();
  const parents = new Set([sessionID]);
  // A set is walked to its end, with all that is added meanwhile; what it has is not added again.
  for (const parent of parents) {
    const room = most - found.size;
    if (room <= 0) break;
    const launched = await client.allTasks({ parent }, room);
    if (!launched.ok) return launched;
    for (const task of launched.value) {
      found.set(task.sessionID, task);
      if ((task.childTaskIds ?? []).length > 0) parents.add(task.sessionID);
    }
  }
  return { ok: true, value: [...found.values()] };
};
