import type { ApiResult } from "../client/api-result.ts";
import { createStatusApiClient, type StatusApiClient } from "../client/status-api-client.ts";
import { dataFolder } from "../services/platform/data-folder.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { CommandError } from "./command.ts";

/** Returns the client of the status API for a data folder; by default the plugin's own. */
export const openClient = (folder = dataFolder()): StatusApiClient => createStatusApiClient(folder);

/**
 * Returns the value of a call of the status API.
 * @throws CommandError with the reason when it failed
 */
export const received = <T>(result: ApiResult<T>): T => {
  if (result.ok) return result.value;
  const elsewhere = result.kind === "notRunning" ? " Use --data if its data are in another folder." : "";
  throw new CommandError(toSingleLine(result.reason + elsewhere));
};
