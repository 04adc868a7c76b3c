import { randomUUID } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** A process as the machine that it runs on knows it. */
export interface ProcessIdentity {
  pid: number;
  /**
   * What `pid` and `startedAt` hold for. Two processes with the same text see each other's pids as their own; of any
   * other process, a pid says nothing.
   */
  machine: string;
  /** When it started, as its machine counts it: tells a process from an earlier one with the same pid. */
  startedAt: number;
}

const textOf = (read: () => string): string | undefined => {
  try {
    return read();
  } catch {
    // There is no such file, or it may not be read: that much cannot be known here.
    return undefined;
  }
};

/** Fields of `/proc/<pid>/stat`, counted from the one after the name: the name may hold spaces and brackets itself. */
const START_TIME = 19;

/** A process's pid and start time, in clock ticks since the boot, as Linux tells them (proc_pid_stat(5)). */
const statOf = (process: number | "self"): { pid: number; startedAt: number } | undefined => {
  const text = textOf(() => readFileSync(`/proc/${process}/stat`, "utf8"));
  if (text === undefined) return undefined;
  const startedAt = Number(text.slice(text.lastIndexOf(")") + 2).split(" ")[START_TIME]);
  return Number.isNaN(startedAt) ? undefined : { pid: Number.parseInt(text, 10), startedAt };
};

/**
 * On Linux pids count within a boot and a PID namespace: containers may share a host name, and do not share pids. A
 * `/proc` that was mounted for another namespace knows this process by another pid, and is of no use.
 */
const identityOnLinux = (): ProcessIdentity | undefined => {
  const boot = textOf(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
  const namespace = textOf(() => readlinkSync("/proc/self/ns/pid"));
  const self = statOf("self");
  if (!boot || !namespace || self?.pid !== process.pid) return undefined;
  return { ...self, machine: `boot ${boot}, ${namespace}` };
};

const identityOfThisProcess = (): ProcessIdentity => {
  const startedAt = Math.round(performance.timeOrigin);
  if (process.platform !== "linux") return { pid: process.pid, machine: `host ${hostname()}`, startedAt };
  // Where a pid cannot be told from one of another namespace, no other process is to judge by it.
  return identityOnLinux() ?? { pid: process.pid, machine: `unknown ${randomUUID()}`, startedAt };
};

/** This process. Its pid and machine do not change while it lives. */
export const thisProcessIdentity: Readonly<ProcessIdentity> = identityOfThisProcess();

const isTaken = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process: it is there.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
};

/** True when a process of this machine still runs. Where start times are not known, any with its pid counts as it. */
export const isRunning = ({ pid, startedAt }: Pick<ProcessIdentity, "pid" | "startedAt">): boolean => {
  if (!isTaken(pid)) return false;
  const now = process.platform === "linux" ? statOf(pid) : undefined;
  return now === undefined || now.startedAt === startedAt;
};
