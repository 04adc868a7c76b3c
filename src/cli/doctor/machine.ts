import { existsSync, readdirSync, readFileSync, readlinkSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { createStatusApiClient } from "../../client/status-api-client.ts";
import { DEFAULT_PORT, isEnabled, LOOPBACK } from "../../services/http/loopback.ts";
import { isRunning, thisProcessIdentity } from "../../services/platform/process-identity.ts";
import { HEARTBEAT_MS, type KnownOwner, LEASE_MS } from "../../services/store/ownership.ts";
import { databaseError, type OpenDatabase } from "../../services/store/sqlite/driver.ts";
import { type FileReport, readFileReport } from "../../services/store/sqlite/journal-reader.ts";
import { shortTime } from "../../services/text/amounts.ts";

/**
 * What was looked at, and how it is:
 * - `ok`: as it should be
 * - `note`: not as usual, and nothing is wrong
 * - `wrong`: something does not work, or will not
 * - `unknown`: it could not be looked at
 */
export interface Check {
  about: "runtime" | "OpenCode" | "folder" | "database" | "processes" | "server" | "port" | "options";
  state: "ok" | "note" | "wrong" | "unknown";
  /** What was found, a sentence or a few words each. */
  found: string[];
  advice?: string;
}

export interface Examined {
  folder: string;
  /** The folder that the command was called in: OpenCode's options may differ from folder to folder. */
  directory: string;
  env: NodeJS.ProcessEnv;
}

const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

/** Formats a number of bytes, such as `1.2 MB`. */
export const formatBytes = (bytes: number): string => {
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  const value = bytes / 1_000 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${UNITS[power]}`;
};

/** Bytes that are to be free: a busy day of tasks takes some ten megabytes. */
const LEAST_FREE = 100_000_000;

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

interface NamedProcess {
  pid: number;
  name: string;
}

const attempt = <T>(read: () => T): T | undefined => {
  try {
    return read();
  } catch {
    // The process has ended meanwhile, or belongs to another user: it stays unknown.
    return undefined;
  }
};

const nameOf = (pid: number): string => attempt(() => readFileSync(`/proc/${pid}/comm`, "utf8").trim()) ?? "unknown";

/** Returns the processes of this user that have a file or socket open, by the target of its link in /proc; Linux only. */
const processesWith = (isMeant: (target: string) => boolean): NamedProcess[] =>
  (attempt(() => readdirSync("/proc")) ?? []).flatMap((entry) => {
    const pid = Number(entry);
    if (!Number.isInteger(pid)) return [];
    const files = attempt(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
    const hasOpen = files.some((file) => isMeant(attempt(() => readlinkSync(`/proc/${pid}/fd/${file}`)) ?? ""));
    return hasOpen ? [{ pid, name: nameOf(pid) }] : [];
  });

const LISTENS = "0A";

/** Columns of the table: the local address, the state, the inode. */
const [LOCAL, STATE, INODE] = [1, 3, 9];

/** Returns the inode of the socket that listens at a port, from the kernel's table (`/proc/net/tcp`). */
export const listeningInode = (table: string, port: number): string | undefined => {
  const ending = `:${port.toString(16).padStart(4, "0").toUpperCase()}`;
  const rows = table.split("\n").map((line) => line.trim().split(/\s+/));
  return rows.find((row) => row[LOCAL]?.endsWith(ending) && row[STATE] === LISTENS)?.[INODE];
};

/** Returns what listens at a port of this machine: a process of this user, `another` that cannot be named, or nothing. */
const listenerAt = (port: number): NamedProcess | "another" | undefined => {
  const tables = ["/proc/net/tcp", "/proc/net/tcp6"].map((path) => attempt(() => readFileSync(path, "utf8")) ?? "");
  const inode = tables.map((table) => listeningInode(table, port)).find((found) => found !== undefined);
  if (inode === undefined) return undefined;
  return processesWith((target) => target === `socket:[${inode}]`)[0] ?? "another";
};

/** Looks at the server of the status API, and at the port where it is or would be. */
export const checkServer = async ({ folder, env }: Examined, now: number): Promise<Check[]> => {
  const client = createStatusApiClient(folder);
  const found = await client.server();
  if (!found.ok) {
    const isOff = !isEnabled(env);
    const state = found.kind === "notRunning" ? "note" : "wrong";
    const reason = isOff ? "ASYNCAGENTS_API_ENABLED is false: nothing is served" : found.reason;
    return [{ about: "server", state, found: [reason] }, portCheck(Number(env.ASYNCAGENTS_API_PORT) || DEFAULT_PORT)];
  }
  const { port, pid, startedAt, version, versionDifference } = found.value;
  const stats = await client.stats();
  const words = [
    `http://${LOOPBACK}:${port}, process ${pid}, for ${shortTime(now - Date.parse(startedAt))}`,
    `version ${version}`,
  ];
  const server: Check = !stats.ok
    ? { about: "server", state: "wrong", found: [...words, stats.reason], advice: "OpenCode's log says why." }
    : versionDifference !== undefined
      ? { about: "server", state: "wrong", found: words, advice: versionDifference }
      : { about: "server", state: "ok", found: words };
  return [server, portCheck(port, pid)];
};

const listenerName = (listener: NamedProcess | "another"): string =>
  listener === "another" ? "a process that cannot be named" : `process ${listener.pid} (${listener.name})`;

/** Names who listens at a port; `expected` is the process that should. */
const portCheck = (port: number, expected?: number): Check => {
  const about = "port";
  const listener = listenerAt(port);
  if (process.platform !== "linux") return { about, state: "unknown", found: [`${port}: only Linux says who listens`] };
  if (listener === undefined)
    return { about, state: expected === undefined ? "ok" : "unknown", found: [`${port} is free`] };
  const found = [`${listenerName(listener)} listens at ${port}`];
  if (expected !== undefined) return { about, state: "ok", found };
  return { about, state: "note", found: [...found, "OpenCode takes the next one that is free"] };
};

/** Looks at the processes that supervise tasks, and at those that have the task database open. */
export const checkProcesses = ({ folder }: Examined, owners: readonly KnownOwner[], now: number): Check => {
  const about = "processes";
  const here = owners.filter(({ machine }) => machine === thisProcessIdentity.machine);
  const alive = here.filter(isRunning);
  const silent = alive.filter(({ heartbeatAt }) => now - heartbeatAt > LEASE_MS + HEARTBEAT_MS);
  const open = processesWith((target) => target === join(folder, "tasks.db"));
  const others = open.filter(({ pid }) => pid !== process.pid && !alive.some((owner) => owner.pid === pid));
  const found = [
    ...alive.map(
      ({ pid, directory, heartbeatAt }) => `${pid} serves ${directory}, last seen ${shortTime(now - heartbeatAt)} ago`,
    ),
    ...others.map(({ pid, name }) => `${pid} (${name}) has tasks.db open`),
  ];
  if (silent.length > 0) {
    const pids = silent.map(({ pid }) => pid).join(", ");
    const advice = `Process ${pids} is stopped or stuck. Another OpenCode takes its tasks over; end it if it does not recover.`;
    return { about, state: "wrong", found, advice };
  }
  return {
    about,
    state: found.length > 0 ? "ok" : "note",
    found: found.length > 0 ? found : ["none has tasks.db open"],
  };
};
