import type { GateEnd } from "../../../machines/task/events.ts";
import type { GateBefore, GateFiles } from "../../../receipt.ts";
import type { Gate } from "../../../task.ts";
import type { RunCommand } from "../../platform/shell-command.ts";
import type { FilesRead } from "../../worktrees/fingerprints.ts";

/** Returns which files a command saw, by what was read before and after it. */
const filesSeen = (before: FilesRead, after: FilesRead): GateFiles => {
  if ("problem" in before) return before;
  if ("problem" in after) return after;
  return { fingerprint: after.fingerprint, changedMeanwhile: after.fingerprint !== before.fingerprint };
};

/**
 * Creates what runs the commands of gates, one at a time for each task.
 * @param readFiles takes the fingerprint of the files where a command runs
 */
export const createGates = (runCommand: RunCommand, readFiles: (directory: string) => Promise<FilesRead>) => {
  const running = new Map<string, AbortController>();

  const stop = (taskId: string) => running.get(taskId)?.abort();

  /** Does a task's work that `stop` ends. Undefined where it was stopped before it ended. */
  const stoppable = async <T>(taskId: string, work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> => {
    stop(taskId);
    const stopper = new AbortController();
    running.set(taskId, stopper);
    const done = await work(stopper.signal);
    if (running.get(taskId) === stopper) running.delete(taskId);
    return stopper.signal.aborted ? undefined : done;
  };

  return {
    /** Runs the gate of a task in that directory. Undefined where it was stopped before it ended. */
    run: (taskId: string, { command, timeout: timeoutMs }: Gate, directory: string): Promise<GateEnd | undefined> =>
      stoppable(taskId, async (signal) => {
        const before = await readFiles(directory);
        if (signal.aborted) return undefined;
        const end = await runCommand({ command, directory, timeoutMs, signal });
        if (signal.aborted) return undefined;
        return { ...end, files: filesSeen(before, "problem" in before ? before : await readFiles(directory)) };
      }),
    /** Runs the gate of a task before its agent begins. Undefined where it was stopped before it ended. */
    runBefore: (
      taskId: string,
      { command, timeout: timeoutMs }: Gate,
      directory: string,
    ): Promise<GateBefore | undefined> =>
      stoppable(taskId, async (signal) => {
        const { exit, end } = await runCommand({ command, directory, timeoutMs, signal });
        return { ...(exit === undefined ? {} : { exit }), end };
      }),
    /** Ends the command of a task, if one runs. */
    stop,
    /** Ends all of them. */
    stopAll: () => {
      for (const taskId of running.keys()) stop(taskId);
    },
  };
};
