import type { ApiFailure, ApiResult } from "../client/api-result.ts";
import type { ApiTask, TaskListQuery } from "../client/api-types.ts";
import { createStatusApiClient, type StatusApiClient } from "../client/status-api-client.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { dataFolder } from "../services/platform/private-files.ts";
import { CommandError, EXIT } from "./command.ts";

/** Returns the client of the status API for a data folder; by default the plugin's own. */
export const openClient = (folder = dataFolder()): StatusApiClient => createStatusApiClient(folder);

/** Returns the error to show for a call that failed. */
export const failureOf = ({ kind, reason }: ApiFailure): CommandError => {
  const elsewhere = kind === "notRunning" ? " Use --data if its data are in another folder." : "";
  const isReached = kind === "refused" || kind === "unreadable";
  return new CommandError(toSingleLine(reason + elsewhere), isReached ? EXIT.failed : EXIT.unreachable);
};

/**
 * Returns the value of a call of the status API.
 * @throws CommandError with the reason when it failed
 */
export const received = <T>(result: ApiResult<T>): T => {
  if (result.ok) return result.value;
  throw failureOf(result);
};

/** Requests all tasks that match and have not ended. */
export const requestLiveTasks = async (
  client: StatusApiClient,
  query: Omit<TaskListQuery, "status" | "limit" | "offset"> = {},
): Promise<ApiResult<ApiTask[]>> => {
  const running = await client.allTasks({ ...query, status: "running" });
  if (!running.ok) return running;
  const resumed = await client.allTasks({ ...query, status: "resumed" });
  return resumed.ok ? { ok: true, value: [...running.value, ...resumed.value] } : resumed;
};

/**
 * Returns all tasks that have not ended, newest first.
 * @throws CommandError when OpenCode cannot be asked
 */
export const liveTasks = async (client: StatusApiClient): Promise<ApiTask[]> =>
  received(await requestLiveTasks(client)).sort((one, other) => other.startedAt.localeCompare(one.startedAt));
