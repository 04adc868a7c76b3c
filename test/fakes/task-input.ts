import type { TaskInput } from "../../src/machines/task/events.ts";
import type { TaskFacts } from "../../src/task.ts";

/** When tasks of tests are launched, unless it is said otherwise; epoch milliseconds. */
export const START = Date.UTC(2026, 0, 1);

/** What a task's machine begins with. Facts that are not given are a plain task's; `at` is the time of its launch. */
export const taskInput = (
  sessionID: string,
  { prompt = "Find it.", ...given }: Partial<TaskFacts> = {},
  at = START,
): TaskInput => ({
  facts: {
    sessionID,
    parentSessionID: "ses_parent",
    parentMessageID: "msg_turn",
    parentAgent: "build",
    author: "build",
    directory: "/project",
    description: "find it",
    prompt,
    agent: "general",
    startedAt: new Date(at).toISOString(),
    batchId: "batch",
    isForked: false,
    priority: 0,
    ...given,
  },
  run: { index: 0, messageID: `msg_${sessionID}`, partID: `prt_${sessionID}`, prompt, startedAt: at },
});
