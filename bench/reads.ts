/**
 * `node bench/reads.ts` and the same with `bun`
 *
 * What an agent's own calls cost beside 300 ended tasks of the same session, with results of 10 kB, and beside 10. The
 * store is on disk; OpenCode's answers are fakes that come at once. All calls block the host's event loop while they
 * read. Exits with 1 when a goal is missed. Takes about 20 seconds.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunResult } from "../src/machines/task/events.ts";
import { composeNotice } from "../src/services/engine/delivery/notices.ts";
import { createIds } from "../src/services/platform/ids.ts";
import { createProgressLog, createUsageReader } from "../src/services/runtime/progress.ts";
import { openStore } from "../src/services/store/open-store.ts";
import { tasksNames } from "../src/tools/tasks/tasks-toolset.ts";
import { createTestContext } from "../test/fakes/context.ts";
import { createStage, PARENT, type Stage } from "../test/fakes/stage.ts";
import { settled } from "../test/fakes/virtual-clock.ts";
import { ownerOf } from "../test/services/store/owners.ts";
import { scriptTask } from "../test/services/store/scripted-task.ts";
import { type Figure, report } from "./figures.ts";
import { median } from "./measuring.ts";
import { one, promptOf, resultOf } from "./stored-tasks.ts";

const [FEW, MANY] = [10, 300];
const TASKS_OF_A_BATCH = 5;
const WARM_UPS = 15;
const ROUNDS = 60;
/** Milliseconds that a call may take beside many tasks. */
const GOAL = 2;

const AGENTS = ["general", "explore", "review"];
const LONG_RESULT = [0, 1, 2].map(resultOf).join("\n\n").slice(0, 10_000);

const root = mkdtempSync(join(tmpdir(), "taskchart-bench-"));

const log = {
  info: () => undefined,
  error: (message: string, extra?: Record<string, unknown>) => {
    throw new Error(`${message} ${JSON.stringify(extra)}`);
  },
};

const idOf = (index: number): string => `ses_${String(index).padStart(6, "0")}_of_the_bench`;

/** The whole plugin on a fake host, beside so many ended tasks of the same parent. */
interface Bench {
  tasks: number;
  stage: Stage;
}

const open = async (tasks: number): Promise<Bench> => {
  const owner = ownerOf("bench", { startedAt: Date.now() });
  const store = openStore({ folder: join(root, String(tasks)), owner, log });
  for (let index = 0; index < tasks; index += 1) {
    const story = scriptTask(idOf(index), {
      // All have ended when the stage opens.
      after: (index - tasks - 100) * 10,
      parentSessionID: PARENT,
      prompt: promptOf(0),
      batchId: `batch_${Math.floor(index / TASKS_OF_A_BATCH)}`,
      agent: one(AGENTS, index),
      description: `look at the files of part ${index}`,
    });
    for (const chapter of [story.launch(), story.answer(LONG_RESULT), story.deliver()]) store.commit(chapter);
  }
  const stage = createStage({
    openStore: () => store,
    toolsets: ["tasks", "elisha", "subtasks"],
    budget: { tasksPerParent: Number.POSITIVE_INFINITY },
  });
  return { tasks, stage };
};

/** A call, which may prepare something first and tidy up afterwards: neither is measured. */
interface Call {
  /** @param id that of another task in each round */
  before?(bench: Bench, id: string): Promise<string>;
  /** @param prepared what `before` returned, by default that id */
  make(bench: Bench, prepared: string): Promise<unknown> | unknown;
  after?(bench: Bench): Promise<void>;
  /** True for a call that stores several changes one after the other: then only the ratio matters. */
  isLong?: boolean;
}

const context = createTestContext();
const noProgressLog = createProgressLog();

const style = { tools: tasksNames("asyncagents"), maxResultChars: 10_000, development: false };

const endOf = (taskId: string, at: number): RunResult => ({
  taskId,
  run: 0,
  parentSessionID: PARENT,
  batchId: "batch_1",
  description: "look at the files",
  outcome: "completed",
  startedAt: at - 1_000,
  endedAt: at,
  result: LONG_RESULT,
});

/** Removes what a call launched. */
const clearLaunched = async ({ stage }: Bench): Promise<void> => {
  await settled();
  await stage.call("clear", { batch_id: "launched" });
};

/** Makes the result of a task one that nobody has read. */
const makeUnread = async ({ stage: { store } }: Bench, id: string): Promise<string> => {
  const record = store.get(id);
  if (!record) throw new Error(`the bench has no task ${id}`);
  const { task, snapshot } = record;
  const context = { ...snapshot.context, resultRetrievedAt: undefined };
  store.commit({ records: [{ task, snapshot: { ...snapshot, context } }], journal: [], prompts: [] });
  return id;
};

const launch = ({ stage }: Bench): Promise<string> => stage.launch({ batch_id: "launched" });

const CALLS: Readonly<Record<string, Call>> = {
  "_output of a task": { before: makeUnread, make: ({ stage }, id) => stage.call("output", { task_id: id }) },
  "_output of a task that was read before": { make: ({ stage }, id) => stage.call("output", { task_id: id }) },
  "_output of a task by the beginning of its id": {
    before: makeUnread,
    make: ({ stage }, id) => stage.call("output", { task_id: id.slice(0, -5) }),
  },
  "_output of a batch of 5": { make: ({ stage }) => stage.call("output", { batch_id: "batch_1" }) },
  _list: { make: ({ stage }) => stage.call("list") },
  "_list of those that failed": { make: ({ stage }) => stage.call("list", { status: "error" }) },
  "_task, a launch": {
    make: ({ stage }) =>
      stage.call("task", { description: "find it", prompt: promptOf(0), agent: "general", batch_id: "launched" }),
    after: clearLaunched,
  },
  "_cancel of one that runs": {
    before: launch,
    make: ({ stage }, id) => stage.call("cancel", { task_id: id }),
    after: clearLaunched,
    isLong: true,
  },
  "_cancel of all, none runs": { make: ({ stage }) => stage.call("cancel", { all: true }) },
  "_clear of one": {
    before: async (bench) => {
      const id = await launch(bench);
      await bench.stage.call("cancel", { task_id: id });
      return id;
    },
    make: ({ stage }, id) => stage.call("clear", { task_id: id }),
    isLong: true,
  },
  elisha_task_output: {
    before: makeUnread,
    make: ({ stage }, id) => stage.call("elisha_task_output", { task_id: id }),
  },
  read_subtask: { before: makeUnread, make: ({ stage }, id) => stage.call("read_subtask", { taskId: id }) },
  "a notice is composed": {
    make: ({ stage: { store, clock } }, id) => {
      const usageReader = createUsageReader(store, noProgressLog);
      const options = { ...context.options, notice: style };
      const ctx = { ...context, store, options, ids: createIds(clock), usageReader };
      return composeNotice(ctx, [endOf(id, clock.now())], undefined);
    },
  },
  "a reminder is written": { make: ({ stage }) => stage.engine.reminderFor(PARENT) },
};

const time = async ({ before, make, after }: Call, bench: Bench, round: number): Promise<number> => {
  const id = idOf((round * 7) % bench.tasks);
  const prepared = before ? await before(bench, id) : id;
  const since = performance.now();
  await make(bench, prepared);
  const took = performance.now() - since;
  await after?.(bench);
  return took;
};

/** Measures a call beside few and beside many tasks by turns, so that the load of the machine is the same for both. */
const figuresOf = async (what: string, call: Call, few: Bench, many: Bench): Promise<Figure[]> => {
  const times = { few: [] as number[], many: [] as number[] };
  for (let round = -WARM_UPS; round < ROUNDS; round += 1) {
    const took = { few: await time(call, few, Math.abs(round)), many: await time(call, many, Math.abs(round)) };
    if (round < 0) continue;
    times.few.push(took.few);
    times.many.push(took.many);
  }
  const [beside10, beside300] = [median(times.few), median(times.many)];
  return [
    {
      what: `${what}, beside ${MANY}`,
      value: beside300,
      unit: "ms",
      ...(call.isLong ? {} : { goal: GOAL }),
      compared: { own: beside300, other: beside10, unit: "ms", with: `${FEW} tasks` },
    },
    { what: `${what}, beside ${MANY} against ${FEW}`, value: beside300 / beside10, unit: "x" },
  ];
};

const benches: Bench[] = [];
try {
  const [few, many] = [await open(FEW), await open(MANY)];
  benches.push(few, many);
  const figures: Figure[] = [];
  for (const [what, call] of Object.entries(CALLS)) figures.push(...(await figuresOf(what, call, few, many)));
  report(figures);
} finally {
  for (const { stage } of benches) stage.engine.stop();
  rmSync(root, { recursive: true, force: true });
}
