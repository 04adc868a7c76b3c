import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Log } from "../../../src/services/platform/log.ts";
import { FOLDER } from "./folder.ts";

/** Creates a folder that is removed at the end of the test. */
export const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(FOLDER, "taskchart-store-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

/** A log that keeps its messages. */
export interface RecordingLog extends Log {
  errors: string[];
  infos: string[];
}

export const createRecordingLog = (): RecordingLog => {
  const errors: string[] = [];
  const infos: string[] = [];
  const line = (message: string, extra?: Record<string, unknown>) => `${message} ${JSON.stringify(extra ?? {})}`;
  return {
    errors,
    infos,
    error: (message, extra) => void errors.push(line(message, extra)),
    info: (message, extra) => void infos.push(line(message, extra)),
  };
};
