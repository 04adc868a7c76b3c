import fc from "fast-check";
import { expect, test } from "vitest";
import { createBudgetTree } from "../../../../src/services/engine/limits/budget-tree.ts";
import type { BudgetedUsage } from "../../../../src/task.ts";
import { pureRuns } from "../../../seed.ts";

const calls = (toolCalls: number): BudgetedUsage => ({ toolCalls, tokens: 10 * toolCalls, cost: 0 });

/** Tasks as a store has them: each with the task above it, and what it has used. */
const createTasks = () => {
  const tasks = new Map<string, { parent: string | undefined; used: number }>();
  let reads = 0;
  const below = (id: string): string[] => [...tasks].flatMap(([child, { parent }]) => (parent === id ? child : []));
  const used = (id: string): number =>
    (tasks.get(id)?.used ?? 0) + below(id).reduce((sum, child) => sum + used(child), 0);
  const count = (id: string): number => below(id).reduce((sum, child) => sum + 1 + count(child), 0);
  const sums = createBudgetTree({
    ownUsage: (id) => calls(tasks.get(id)?.used ?? 0),
    childTasks: (id) => {
      reads += 1;
      return below(id);
    },
  });
  const use = (id: string, amount: number, parent = tasks.get(id)?.parent) => {
    const task = { parent, used: (tasks.get(id)?.used ?? 0) + amount };
    tasks.set(id, task);
    sums.set(id, parent, calls(task.used));
  };
  return { sums, tasks, use, used, count, reads: () => reads };
};

test("what a task uses counts for itself and for each task above it", () => {
  const { sums, use } = createTasks();
  use("a", 1);
  use("b", 2, "a");
  use("c", 4, "b");
  use("d", 8, "a");
  expect(["a", "b", "c", "d"].map((id) => sums.of(id))).toMatchObject([
    { toolCalls: 15, tokens: 150, tasks: 3 },
    { toolCalls: 6, tasks: 1 },
    { toolCalls: 4, tasks: 0 },
    { toolCalls: 8, tasks: 0 },
  ]);
  expect(sums.lineage("c")).toEqual(["a", "b", "c"]);
});

test("a task is read once: after that, what is used costs no query", () => {
  const { use, reads, sums } = createTasks();
  use("a", 1);
  use("b", 1, "a");
  const before = reads();
  for (let time = 0; time < 1_000; time += 1) use(time % 2 === 0 ? "a" : "b", 1);
  expect(reads()).toBe(before);
  expect(sums.of("a")?.toolCalls).toBe(1_002);
});

test("a task that has ended counts for the one above it for as long as that is known, and not twice when it is resumed", () => {
  const { sums, use } = createTasks();
  use("a", 1);
  use("b", 2, "a");
  sums.release("b");
  expect(sums.of("a")).toMatchObject({ toolCalls: 3, tasks: 1 });
  use("b", 4, "a");
  expect(sums.of("a")).toMatchObject({ toolCalls: 7, tasks: 1 });
  sums.release("a");
  expect([sums.of("a"), sums.of("b"), sums.lineage("b")]).toEqual([undefined, undefined, []]);
});

const step = fc.record({
  does: fc.constantFrom("use", "use", "use", "end"),
  task: fc.nat(7),
  amount: fc.nat(5),
});

test("in whatever order tasks begin, use and end, the sums are those of the tasks", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { sums, tasks, use, used, count } = createTasks();
      for (const { does, task, amount } of steps) {
        const id = `t${task}`;
        // Each task is below that with half its number, which may have ended, but has begun before.
        const parent = task > 1 && (tasks.has(id) || tasks.has(`t${task >> 1}`)) ? `t${task >> 1}` : undefined;
        if (does === "use") use(id, amount, tasks.has(id) ? tasks.get(id)?.parent : parent);
        else sums.release(id);
        for (const known of tasks.keys()) {
          const sum = sums.of(known);
          if (sum) expect([known, sum.toolCalls, sum.tasks]).toEqual([known, used(known), count(known)]);
        }
      }
    }),
    { numRuns: pureRuns(300) },
  );
});
