import { randomUUID } from "node:crypto";
import type { ReadDirectories } from "../host/directories.ts";
import { worktreesFolder } from "../worktrees/folders.ts";
import { createEngineSource } from "./engine-source.ts";
import type { OpenDirectories } from "./open-directories.ts";
import { type StatusServer, type StatusServerOptions, startStatusServer } from "./server/status-server.ts";

/** What the status API is served from. */
export interface StatusApiOptions extends Omit<StatusServerOptions, "source"> {
  directories: OpenDirectories;
  readDirectories: ReadDirectories;
}

/**
 * Serves the status API of all open directories, see `startStatusServer`. This file is the only way to the server and to
 * its libraries, half of all the code: it is imported when the server is started, which is after OpenCode has.
 */
export const serveStatusApi = ({
  directories,
  readDirectories,
  ...options
}: StatusApiOptions): Promise<StatusServer | undefined> =>
  startStatusServer({
    ...options,
    source: createEngineSource(
      directories,
      options.clock,
      randomUUID,
      worktreesFolder(options.folder),
      readDirectories,
    ),
  });
