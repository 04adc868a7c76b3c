import { existsSync, readFileSync } from "node:fs";

/** What a process has used of the processor since it began, in milliseconds. */
export type CpuUse = {
  /** All its threads, ended ones too, for itself and in the kernel; in steps of 10 ms. */
  process: number;
  /** Its main thread alone, which is that of its event loop; exact to a tick of the kernel, 1 to 4 ms. */
  mainThread: number;
};

/** Linux alone tells of other processes in files, and of single threads only when its kernel was built to. */
export const canReadCpu = existsSync("/proc/self/stat") && existsSync("/proc/self/schedstat");

/** Ticks in a second as `/proc/<pid>/stat` counts them: 100 on every Linux, whatever the kernel's own tick is. */
const ticksPerSecond = 100;

/** @returns undefined on a system that does not tell. */
export function cpuUse(pid: number): CpuUse | undefined {
  if (!canReadCpu) return undefined;
  return {
    process: processMs(readFileSync(`/proc/${pid}/stat`, "latin1")),
    mainThread: Number(readFileSync(`/proc/${pid}/schedstat`, "latin1").split(" ")[0]) / 1e6,
  };
}

/** User and system time from a line of `/proc/<pid>/stat`, see proc_pid_stat(5). */
export function processMs(stat: string): number {
  // The name of the program stands in parentheses, and may have spaces and parentheses of its own.
  const behindName = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [userTicks, systemTicks] = behindName.slice(11, 13).map(Number);
  if (userTicks === undefined || systemTicks === undefined) throw new Error(`not a line of /proc/<pid>/stat: ${stat}`);
  return ((userTicks + systemTicks) * 1000) / ticksPerSecond;
}
