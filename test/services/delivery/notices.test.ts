import { expect, test } from "vitest";
import type { RunResult } from "../../../src/machines/task/events.ts";
import { composeNotice } from "../../../src/services/delivery/notices.ts";
import { createIds } from "../../../src/services/platform/ids.ts";
import { createProgressLog } from "../../../src/services/runtime/progress.ts";
import { createUsageReader } from "../../../src/services/runtime/usage-reader.ts";
import { toolNames } from "../../../src/tools/plugin-tools.ts";
import { createMemory } from "../../fakes/disk.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";

const end = (taskId: string, endedAt: number): RunResult => ({
  taskId,
  run: 0,
  parentSessionID: "ses_parent",
  batchId: "batch",
  description: taskId,
  outcome: "completed",
  startedAt: 0,
  endedAt,
  result: "12",
});

test("a prompt lists results in the order in which the runs ended, whatever their order in the queue", () => {
  const queue = [end("ses_late", 3_000), end("ses_early", 1_000), end("ses_middle", 2_000)];
  const style = { tools: toolNames(["tasks"], "asyncagents"), maxResultChars: 1_000, development: false };
  const clock = createVirtualClock();
  const store = createMemory().boot(clock);
  const usage = createUsageReader(store, createProgressLog());
  const { parts, runs, toasts } = composeNotice(queue, store, createIds(clock), style, usage, () => ({}));
  const order = ["ses_early", "ses_middle", "ses_late"];
  expect(runs.map(({ taskId }) => taskId)).toEqual(order);
  expect(parts.filter(({ synthetic }) => !synthetic).map(({ text }) => /"(\w+)"/.exec(text)?.[1])).toEqual(order);
  expect(parts.map(({ id }) => id)).toEqual(parts.map(({ id }) => id).toSorted());
  expect(toasts).toEqual([{ message: "✓ 3 agents have ended: 3 finished.", variant: "success" }]);
});
