import { existsSync, readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { KnownOwner } from "../../services/store/ownership.ts";
import { databaseError, type OpenDatabase } from "../../services/store/sqlite/driver.ts";
import { type FileReport, readFileReport } from "../../services/store/sqlite/journal-reader.ts";
import type { Check, Examined } from "./examined.ts";

const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

/** Formats a number of bytes, such as `1.2 MB`. */
export const formatBytes = (bytes: number): string => {
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const value = bytes / 1_000 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[power]}`;
};

/** Bytes that are to be free: a busy day of tasks takes some ten megabytes. */
const LEAST_FREE = 100_000_000;

/** Bits of a mode that give others access. */
const OTHERS = 0o077;

/** Looks at the data folder: whether it is there, is private, and has room. */
export const checkFolder = ({ folder }: Examined): Check => {
  const about = "folder";
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (!stats)
    return { about, state: "note", found: [`${folder} does not exist yet: OpenCode makes it when it starts`] };
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const found = [folder, `${formatBytes(free)} free`];
  if (free < LEAST_FREE)
    return { about, state: "wrong", found, advice: "Free some space: soon nothing can be stored." };
  if (process.platform !== "win32" && (stats.mode & OTHERS) !== 0) {
    const advice = `Conversations are in it: chmod 700 ${folder}. OpenCode does so when it starts.`;
    return { about, state: "wrong", found: [...found, "others of this machine have access"], advice };
  }
  return { about, state: "ok", found };
};

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

const problemIn = ({ schema, damage }: FileReport): { found: string; advice: string } | undefined => {
  if (damage.length > 0) {
    const advice = "Close OpenCode and open it again: it sets the file aside, and goes on with what can be read.";
    return { found: `damaged: ${damage.join("; ")}`, advice };
  }
  if (schema.file > schema.known && !schema.isUnreleased) {
    const advice = "Update this command, or OpenCode's plugin, until both are the same version.";
    return { found: `a newer version wrote it: this one reads version ${schema.known}`, advice };
  }
  return undefined;
};

/** Looks at the task database. `openDatabase` is undefined where this runtime has no SQLite. */
export const checkDatabase = (
  { folder }: Examined,
  openDatabase: OpenDatabase | undefined,
): { check: Check; owners: KnownOwner[] } => {
  const about = "database";
  const path = join(folder, "tasks.db");
  const nothing = (state: Check["state"], ...found: string[]) => ({
    check: { about, state, found } as Check,
    owners: [],
  });
  if (!existsSync(path)) return nothing("note", "tasks.db does not exist yet: OpenCode makes it with the first task");
  const size = `tasks.db ${formatBytes(sizeOf(path))}, its log ${formatBytes(sizeOf(`${path}-wal`))}`;
  if (!openDatabase) return nothing("unknown", size, "this runtime has no SQLite to look into it");
  let report: FileReport;
  try {
    report = readFileReport(path, openDatabase);
  } catch (error) {
    const advice = "See OpenCode's log for what it does about it.";
    return { check: { about, state: "wrong", found: [size, databaseError(error).message], advice }, owners: [] };
  }
  const { schema, tasks, owners } = report;
  const counts = tasks === undefined ? [] : [`${tasks.all} tasks, ${tasks.live} of them under way`];
  const found = [size, `version ${schema.file}`, ...counts];
  const problem = problemIn(report);
  if (problem)
    return { check: { about, state: "wrong", found: [...found, problem.found], advice: problem.advice }, owners };
  const aside = readdirSync(folder).filter((name) => /^tasks\.db\.(damaged|unreleased)-.*(?<!-wal|-shm)$/.test(name));
  if (aside.length > 0) {
    const advice = "Remove it when you need it no more.";
    return {
      check: { about, state: "note", found: [...found, "undamaged", `set aside: ${aside.join(", ")}`], advice },
      owners,
    };
  }
  if (schema.isUnreleased || schema.file < schema.known) {
    const note = schema.isUnreleased
      ? "a build from before the first release wrote it: OpenCode sets it aside when it starts"
      : "it has no tables yet: OpenCode makes them when it starts";
    return { check: { about, state: "note", found: [...found, note] }, owners };
  }
  return { check: { about, state: "ok", found: [...found, "undamaged"] }, owners };
};
