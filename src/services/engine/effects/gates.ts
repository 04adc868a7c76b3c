import type { GateEnd } from "../../../machines/task/events.ts";
import type { Gate } from "../../../task.ts";
import type { RunCommand } from "../../platform/shell-command.ts";

/** Runs the commands of gates, one at a time for each task. */
export interface Gates {
  /** Runs the gate of a task in that directory. Undefined where it was stopped before it ended. */
  run(taskId: string, gate: Gate, directory: string): Promise<GateEnd | undefined>;
  /** Ends the command of a task, if one runs. */
  stop(taskId: string): void;
  /** Ends all of them. */
  stopAll(): void;
}

/** Creates the gates of an engine, of which none runs. */
export const createGates = (runCommand: RunCommand): Gates => {
  const running = new Map<string, AbortController>();

  const stop = (taskId: string) => running.get(taskId)?.abort();

  return {
    run: async (taskId, { command, timeout: timeoutMs }, directory) => {
      stop(taskId);
      const stopper = new AbortController();
      running.set(taskId, stopper);
      const { signal } = stopper;
      const end = await runCommand({ command, directory, timeoutMs, signal });
      if (running.get(taskId) === stopper) running.delete(taskId);
      return signal.aborted ? undefined : end;
    },
    stop,
    stopAll: () => {
      for (const taskId of running.keys()) stop(taskId);
    },
  };
};
