import type { ApiTask } from "../client/api-types.ts";
import type { StatusApiClient } from "../client/status-api-client.ts";
import { received } from "./status-api.ts";

/**
 * Returns all tasks that have not ended, newest first.
 * @throws CommandError when OpenCode cannot be asked
 */
export const liveTasks = async (client: StatusApiClient): Promise<ApiTask[]> => {
  const tasks = [await client.allTasks({ status: "running" }), await client.allTasks({ status: "resumed" })];
  return tasks.flatMap(received).sort((one, other) => other.startedAt.localeCompare(one.startedAt));
};
