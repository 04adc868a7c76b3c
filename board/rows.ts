import { countTasks } from "../src/services/text/task-counts.ts";
import { isActive } from "./filters.ts";
import type { ListedTask } from "./listed-task.ts";

/** How many of some tasks stand how, and what they used. */
export interface Counts {
  total: number;
  active: number;
  waiting: number;
  failed: number;
  cost: number;
  tokens: number;
}

/** A line of the list. */
export type Row =
  | { kind: "conversation"; key: string; level: 1; id: string; first: ListedTask; counts: Counts; isOpen: boolean }
  | { kind: "batch"; key: string; level: 2; startedAt: string; counts: Counts; isOpen: boolean }
  | { kind: "task"; key: string; level: number; depth: number; task: ListedTask };

/** Heights in pixels: fixed, so that a list of any length knows where each of its rows is. */
export const ROW_HEIGHTS: Readonly<Record<Row["kind"], number>> = { conversation: 46, batch: 28, task: 56 };

const countsOf = (tasks: readonly ListedTask[]): Counts => {
  const ids = new Set(tasks.map(({ sessionID }) => sessionID));
  // What a task used includes the tasks below it: one whose parent is counted is not counted again.
  const counted = tasks.filter(({ parentTaskId }) => parentTaskId === undefined || !ids.has(parentTaskId));
  const { requests, failed } = countTasks(tasks);
  return {
    total: tasks.length,
    active: tasks.filter(isActive).length,
    waiting: requests,
    failed,
    cost: counted.reduce((sum, { usage }) => sum + usage.cost, 0),
    tokens: counted.reduce((sum, { usage }) => sum + usage.tokens, 0),
  };
};

/**
 * Arranges tasks by the conversation that they come from, by batch, and below the tasks that launched them. The newest
 * conversation and batch come first, as the tasks do that are given; within a batch tasks stand in the order of their launch.
 * `closed` has the keys of conversations and batches whose tasks are not shown.
 */
export const arrange = (tasks: readonly ListedTask[], closed: ReadonlySet<string>): Row[] => {
  const byId = new Map(tasks.map((task) => [task.sessionID, task]));
  const parentOf = ({ parentTaskId }: ListedTask) => (parentTaskId === undefined ? undefined : byId.get(parentTaskId));
  const children = Map.groupBy(
    tasks.filter((task) => parentOf(task)),
    ({ parentTaskId }) => parentTaskId,
  );
  const withChildren = (task: ListedTask, depth = 0): { task: ListedTask; depth: number }[] => [
    { task, depth },
    ...(children.get(task.sessionID) ?? []).toReversed().flatMap((child) => withChildren(child, depth + 1)),
  ];
  const tops = tasks.filter((task) => !parentOf(task));
  const rows: Row[] = [];
  for (const [id, ofConversation] of Map.groupBy(tops, ({ parentSessionID }) => parentSessionID)) {
    const [first] = ofConversation;
    if (!first) continue;
    const batches = Map.groupBy(ofConversation, ({ batchId }) => batchId);
    const expanded = [...batches].map(([batchId, inBatch]) => ({
      key: `${id}/${batchId}`,
      tasks: inBatch.toReversed().flatMap((task) => withChildren(task)),
    }));
    const all = expanded.flatMap((batch) => batch.tasks.map(({ task }) => task));
    const isOpen = !closed.has(id);
    rows.push({ kind: "conversation", key: id, level: 1, id, first, counts: countsOf(all), isOpen });
    if (!isOpen) continue;
    for (const { key, tasks: inBatch } of expanded) {
      const isBatchOpen = !closed.has(key);
      const counts = countsOf(inBatch.map(({ task }) => task));
      const startedAt = inBatch[0]?.task.startedAt ?? "";
      rows.push({ kind: "batch", key, level: 2, startedAt, counts, isOpen: isBatchOpen });
      if (!isBatchOpen) continue;
      for (const { task, depth } of inBatch) {
        rows.push({ kind: "task", key: task.sessionID, level: depth + 3, depth, task });
      }
    }
  }
  return rows;
};

/** Returns where each row begins, in pixels from the top; the last number is where all of them end. */
export const offsetsOf = (rows: readonly Row[]): number[] => {
  const offsets = [0];
  for (const { kind } of rows) offsets.push((offsets.at(-1) ?? 0) + ROW_HEIGHTS[kind]);
  return offsets;
};

/** Returns the index of the row at that many pixels from the top. */
export const rowAt = (offsets: readonly number[], y: number): number => {
  let low = 0;
  let high = offsets.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((offsets[middle] ?? 0) <= y) low = middle;
    else high = middle - 1;
  }
  return Math.max(0, low);
};
