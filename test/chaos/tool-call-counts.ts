import type { TaskObservations } from "./observations.ts";

/** How many tool calls a task may make, with all tasks below it: the stage's `budget.toolCalls`. */
export const TOOL_CALLS = 12;

/** How often in a row a task may make the same call: the stage's `loop.repeat`. */
const REPEAT = 20;

/** How many tool calls were made for each task, in its session and below it. */
export interface ToolCallCounts {
  /** Counts a call in a session. With one too many the run of its task may end, and those of the tasks above it. */
  add(sessionID: string): void;
  /** The number of all calls. */
  total(): number;
}

export const createToolCallCounts = (tracks: TaskObservations): ToolCallCounts => {
  const made = new Map<string, number>();
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
  };
};
