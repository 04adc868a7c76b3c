import type { HostEvent } from "../../src/machines/host-events.ts";
import { hasEnded } from "../../src/task.ts";
import type { TaskObservations } from "./observations.ts";

/** How many tool calls a task may make, with all tasks below it: the stage's `budget.toolCalls`. */
export const TOOL_CALLS = 12;

/** How often in a row a task may make the same call: the stage's `loop.repeat`. */
export const REPEAT = 6;

/** How many tool calls were made for each task, in its session and below it. */
export interface ToolCallCounts {
  /** Counts a call in a session. With one too many the run of its task may end, and those of the tasks above it. */
  add(sessionID: string): void;
  /** The number of all calls. */
  total(): number;
  /** Records an event that the living process takes. `supervises` says whether some process looks after the task. */
  heard(event: HostEvent, supervises: (taskId: string) => boolean): void;
  /** A new process knows nothing of earlier calls. */
  forgetCalls(): void;
  /** The runs, as `task/run`, in which the living process has heard of too many equal calls in a row. */
  loops(): ReadonlySet<string>;
}

export const createToolCallCounts = (tracks: TaskObservations): ToolCallCounts => {
  const made = new Map<string, number>();
  const equal = new Map<string, { input: string; calls: Set<string> }>();
  const loops = new Set<string>();
  let total = 0;
  return {
    add: (sessionID) => {
      total += 1;
      for (let id: string | undefined = sessionID; id !== undefined; id = tracks.of(id)?.parentTaskId) {
        const count = (made.get(id) ?? 0) + 1;
        made.set(id, count);
        if (count > Math.min(TOOL_CALLS, REPEAT - 1)) tracks.mayEnd(id);
      }
    },
    total: () => total,
    heard: (event, supervises) => {
      if (event.type !== "toolCall" || event.input === undefined) return;
      const { sessionID, callID, input } = event;
      const task = tracks.of(sessionID);
      if (!task || hasEnded(task) || !supervises(sessionID)) return;
      const run = `${sessionID}/${task.resumeCount}`;
      const known = equal.get(run);
      const calls = known?.input === input ? known.calls.add(callID) : new Set([callID]);
      equal.set(run, { input, calls });
      if (calls.size >= REPEAT) loops.add(run);
    },
    forgetCalls: () => {
      equal.clear();
      loops.clear();
    },
    loops: () => loops,
  };
};
