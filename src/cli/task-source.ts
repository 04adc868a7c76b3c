import type { ApiResult } from "../client/api-result.ts";
import type { StatusApiClient } from "../client/status-api-client.ts";
import type { JournalReader } from "../services/store/sqlite/journal-reader.ts";
import { failureOf, openClient } from "./status-api.ts";
import { hasTaskDatabase, withJournals } from "./task-database.ts";
import type { Terminal } from "./terminal.ts";

/** How to read something from the running OpenCode, and how from the task database where none runs. */
export interface Reading<T> {
  live(client: StatusApiClient): Promise<ApiResult<T>>;
  stored(journals: JournalReader): T;
}

/**
 * Reads from the running OpenCode; where none runs, from the task database, and says so beside the output. Both have the
 * same tasks: OpenCode knows in addition what they wait for.
 * @throws CommandError when neither can be read
 */
export const readTasks = async <T>(
  { live, stored }: Reading<T>,
  { data, terminal }: { data: string | undefined; terminal: Terminal },
): Promise<{ value: T; isLive: boolean }> => {
  const client = openClient(data);
  const result = await live(client);
  if (result.ok) {
    const server = await client.server();
    if (server.ok && server.value.versionDifference !== undefined) terminal.note(server.value.versionDifference);
    return { value: result.value, isLive: true };
  }
  if (result.kind !== "notRunning") throw failureOf(result);
  // Where there is no file either, OpenCode is what is missing.
  if (!hasTaskDatabase(data)) throw failureOf(result);
  const value = await withJournals(data, stored);
  terminal.note("OpenCode is not running: read from the task database. Tasks under way go on when it is opened.");
  return { value, isLive: false };
};
