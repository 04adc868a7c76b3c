import type { TaskInput } from "../../src/machines/task/events.ts";
import type { TaskFacts } from "../../src/task.ts";

/** Default launch time of tasks in tests, in epoch milliseconds. */
export const START = Date.UTC(2026, 0, 1);

/** Creates the input of a task's machine. Facts that are not given have plain defaults; `at` is the time of the launch. */
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
