import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** A process, as a person recognizes it. */
export interface NamedProcess {
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

/** Returns the processes of this user that have a file open. On Linux only; elsewhere none are found. */
export const processesWithFile = (path: string): NamedProcess[] =>
  processesWith((target) => target === path).filter(({ pid }) => pid !== process.pid);

/** The state of a socket that listens, in the kernel's table. */
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
export const listenerAt = (port: number): NamedProcess | "another" | undefined => {
  const tables = ["/proc/net/tcp", "/proc/net/tcp6"].map((path) => attempt(() => readFileSync(path, "utf8")) ?? "");
  const inode = tables.map((table) => listeningInode(table, port)).find((found) => found !== undefined);
  if (inode === undefined) return undefined;
  return processesWith((target) => target === `socket:[${inode}]`)[0] ?? "another";
};
