import type { GateEnd } from "../../../machines/task/events.ts";
import type { Gate } from "../../../task.ts";
import type { RunCommand } from "../../platform/shell-command.ts";

/** Creates what runs the commands of gates, one at a time for each task. */
export const createGates = (runCommand: RunCommand) => {
  const running = new Map<string, AbortController>();

  const stop = (taskId: string) => running.get(taskId)?.abort();

  return {
    /** Runs the gate of a task in that directory. Undefined where it was stopped before it ended. */
    run: async (
      taskId: string,
      { command, timeout: timeoutMs }: Gate,
      directory: string,
    ): Promise<GateEnd | undefined> => {
      stop(taskId);
      const stopper = new AbortController();
      running.set(taskId, stopper);
      const { signal } = stopper;
      const end = await runCommand({ command, directory, timeoutMs, signal });
      if (running.get(taskId) === stopper) running.delete(taskId);
      return signal.aborted ? undefined : end;
    },
    /** Ends the command of a task, if one runs. */
    stop,
    /** Ends all of them. */
    stopAll: () => {
      for (const taskId of running.keys()) stop(taskId);
    },
  };
};
