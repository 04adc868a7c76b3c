import { expect, test } from "vitest";
import type { RunResult } from "../../../../src/machines/task/events.ts";
import { composeNotice } from "../../../../src/services/engine/delivery/notices.ts";
import { toolNames } from "../../../../src/tools/plugin-tools.ts";
import { createTestContext } from "../../../fakes/context.ts";

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

const compose = (queue: RunResult[], limits: { maxResultChars: number; room?: number }, asked: string[] = []) => {
  const context = createTestContext();
  const { room, maxResultChars } = limits;
  const notice = { tools: toolNames(["tasks"], "asyncagents"), development: false, maxResultChars };
  const takeUntold = (taskId: string) => {
    asked.push(taskId);
    return [];
  };
  const { options, progress } = context;
  const watched = { ...context, options: { ...options, notice }, progress: { ...progress, takeUntold } };
  return composeNotice(watched, queue, room);
};

test("a prompt lists results in the order in which the runs ended, whatever their order in the queue", () => {
  const queue = [end("ses_late", 3_000), end("ses_early", 1_000), end("ses_middle", 2_000)];
  const { parts, runs, toasts } = compose(queue, { maxResultChars: 1_000 });
  const order = ["ses_early", "ses_middle", "ses_late"];
  expect(runs.map(({ taskId }) => taskId)).toEqual(order);
  expect(parts.filter(({ synthetic }) => !synthetic).map(({ text }) => /"(\w+)"/.exec(text)?.[1])).toEqual(order);
  expect(parts.map(({ id }) => id)).toEqual(parts.map(({ id }) => id).toSorted());
  expect(toasts).toEqual([{ message: "✓ 3 agents have ended: 3 finished.", variant: "success" }]);
});

test("what an agent wrote before a last message without text takes as much of the reader's room as a result", () => {
  const text = "twelve ".repeat(2_000);
  const limits = { maxResultChars: 20_000, room: 5_000 };
  const told = (queue: RunResult[]) =>
    compose(queue, limits)
      .parts.map((part) => part.text)
      .join("\n");
  const earlier = [1, 2, 3].map((at) => ({ ...end(`ses_${at}`, at), result: "", earlierText: text }));
  const results = [1, 2, 3].map((at) => ({ ...end(`ses_${at}`, at), result: text }));
  expect(told(results).length).toBeLessThan(2 * text.length);
  expect(told(earlier).length).toBeLessThan(2 * text.length);
  expect(compose(earlier, limits).runs).toEqual(compose(results, limits).runs);
});

test("the files that a run shared with others are asked for when the prompt is about it, and not before", () => {
  const asked: string[] = [];
  const queue = Array.from({ length: 60 }, (_, at) => end(`ses_${at}`, at));
  const { runs } = compose(queue, { maxResultChars: 20_000, room: 0 }, asked);
  expect(runs.length).toBeLessThan(60);
  expect(asked).toEqual(runs.map(({ taskId }) => taskId));
});
