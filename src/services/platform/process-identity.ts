// Two containers with one host name may have the same pids, so a pid counts only within a boot and a PID namespace.
import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** Identifies a process, also after its pid has been reused. */
export interface ProcessIdentity {
  pid: number;
  /**
   * The scope in which `pid` is valid, such as a boot and a PID namespace. Processes with the same text here can judge
   * each other by pid; the pid of any other process says nothing.
   */
  machine: string;
  /**
   * When the process started: distinguishes it from an earlier one with the same pid. On Linux in clock ticks since the
   * boot, elsewhere in epoch milliseconds.
   */
  startedAt: number;
}

const readOrUndefined = (read: () => string): string | undefined => {
  try {
    return read();
  } catch {
    // The file does not exist or may not be read, so this fact about the process stays unknown.
    return undefined;
  }
};

/** Index of the start time in `/proc/<pid>/stat`, counted after the name, which may itself contain spaces and brackets. */
const START_TIME_FIELD = 19;

/** Reads a process's pid and start time, in clock ticks since the boot, from Linux (proc_pid_stat(5)). */
const readStat = (process: number | "self"): { pid: number; startedAt: number } | undefined => {
  const text = readOrUndefined(() => readFileSync(`/proc/${process}/stat`, "utf8"));
  if (text === undefined) return undefined;
  const startedAt = Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[START_TIME_FIELD]);
  return Number.isNaN(startedAt) ? undefined : { pid: Number.parseInt(text, 10), startedAt };
};

/**
 * On Linux a pid is valid within one boot and one PID namespace: containers may share a host name without sharing pids.
 * Undefined if `/proc` is missing, or was mounted for another namespace, where this process has another pid.
 */
const identityOnLinux = (): ProcessIdentity | undefined => {
  const boot = readOrUndefined(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
  const namespace = readOrUndefined(() => readlinkSync("/proc/self/ns/pid"));
  const self = readStat("self");
  if (!boot || !namespace || self?.pid !== process.pid) return undefined;
  return { ...self, machine: `boot ${boot}, ${namespace}` };
};

const identityOfThisProcess = (): ProcessIdentity => {
  const startedAt = Math.round(performance.timeOrigin);
  if (process.platform !== "linux") return { pid: process.pid, machine: `host ${hostname()}`, startedAt };
  // Without a known namespace the pid could be confused with another one, so no other process may judge by it.
  return identityOnLinux() ?? { pid: process.pid, machine: `unknown ${randomUUID()}`, startedAt };
};

/** The identity of this process. */
export const thisProcessIdentity: Readonly<ProcessIdentity> = identityOfThisProcess();

/**
 * True if this machine has a process with that pid, of any user. The system reuses pids, so it may be another
 * process than the one meant: see `isRunning`.
 */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists but belongs to another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
};

/**
 * True if that process of this machine still runs. Only Linux reports start times; elsewhere any process with the same pid
 * counts as the one meant.
 */
export const isRunning = ({ pid, startedAt }: Pick<ProcessIdentity, "pid" | "startedAt">): boolean => {
  if (!isAlive(pid)) return false;
  const now = process.platform === "linux" ? readStat(pid) : undefined;
  return now === undefined || now.startedAt === startedAt;
};
