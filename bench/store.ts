/**
 * `node bench/store.ts [--tasks N]` and the same with `bun`
 *
 * What the store on disk costs: a state change, the bytes of a task, a start beside many stored tasks, and the memory that
 * ended tasks take, each beside the store in memory where that can be compared. Prompts have 1 kB, results 4 kB. Exits with
 * 1 when a goal is missed. With 100,000 stored tasks, the default, it takes about a minute and writes 2 GB into the folder for
 * temporary files.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openStore } from "../src/services/store/open-store.ts";
import { loadSqlite } from "../src/services/store/sqlite/driver.ts";
import type { Store } from "../src/services/store/store.ts";
import { createMemory } from "../test/fakes/disk.ts";
import { createVirtualClock } from "../test/fakes/virtual-clock.ts";
import { ownerOf } from "../test/services/store/owners.ts";
import { type Figure, report } from "./figures.ts";
import { memory, percentile, timed } from "./measuring.ts";
import { ended, fill, parentIdOf, resultOf, storyOf, TASKS_OF_A_PARENT, taskIdOf } from "./stored-tasks.ts";

const CHANGES = 3_000;
const ENDED = 10_000;
/** Tasks of the files whose size is measured. */
const SIZED = 2_000;

const root = mkdtempSync(join(tmpdir(), "taskchart-bench-"));
const owner = (id: string) => ownerOf(id, { startedAt: Date.now() });

const log = {
  info: () => undefined,
  error: (message: string, extra?: Record<string, unknown>) => {
    throw new Error(`${message} ${JSON.stringify(extra)}`);
  },
};

const onDisk = (name: string, id: string): Store => openStore({ folder: join(root, name), owner: owner(id), log });

/** Milliseconds for each change of the lives of tasks, one after the other: launch, answer, delivery. */
const changesOf = (store: Store): number[] =>
  Array.from({ length: CHANGES / 3 }, (_, index) => ({ story: storyOf(index), result: resultOf(index) })).flatMap(
    ({ story, result }) =>
      [() => story.launch(), () => story.answer(result), () => story.deliver()].map((chapter) => {
        const change = chapter();
        return timed(() => void store.commit(change));
      }),
  );

const measureChanges = async (): Promise<Figure[]> => {
  // Unmeasured: the first round pays for the just-in-time compiler.
  const warm = await onDisk("warm", "warm");
  changesOf(warm);
  warm.close();
  const disk = await onDisk("changes", "changes");
  const [stored, remembered] = [changesOf(disk), changesOf(createMemory().boot(createVirtualClock()))];
  disk.close();
  const [onDiskMs, inMemoryMs] = [percentile(stored, 0.5), percentile(remembered, 0.5)];
  return [
    {
      what: "state change on disk, median",
      value: onDiskMs,
      unit: "ms",
      goal: 1,
      compared: { own: onDiskMs, other: inMemoryMs, unit: "ms", with: "the store in memory" },
    },
    { what: "state change on disk, p99", value: percentile(stored, 0.99), unit: "ms" },
    { what: "state change in memory, median", value: inMemoryMs, unit: "ms" },
    { what: "state change in memory, p99", value: percentile(remembered, 0.99), unit: "ms" },
  ];
};

/** Bytes of the file for each task. Each task takes its prompt and its result, 5 kB, and what else is known of it. */
const bytesOf = (name: string): number => statSync(join(root, name, "tasks.db")).size / SIZED;

/** Tasks of one parent live at the same time, as a file has them that grew task by task. */
const liveTogether = (store: Store): void => {
  for (let first = 0; first < SIZED; first += TASKS_OF_A_PARENT) {
    const stories = Array.from({ length: TASKS_OF_A_PARENT }, (_, index) => storyOf(first + index));
    for (const story of stories) store.commit(story.launch());
    for (const [index, story] of stories.entries())
      store.commit(story.answer(`${first + index} ${resultOf(first + index)}`));
    for (const story of stories) store.commit(story.deliver());
  }
};

const measureSize = async (): Promise<Figure[]> => {
  const figures: Figure[] = [];
  for (const [name, how, write] of [
    ["one-by-one", "one after the other", (store: Store) => fill(store, SIZED)],
    ["together", "twenty at a time", liveTogether],
  ] as const) {
    const store = await onDisk(name, name);
    write(store);
    store.close();
    const figure = (when: string): Figure => {
      const what = `size of a task with 5 kB of texts, ${how}${when}`;
      return { what, value: bytesOf(name) / 1e3, unit: "kB", goal: 8 };
    };
    figures.push(figure(""));
    const database = loadSqlite()(join(root, name, "tasks.db"));
    database.exec("VACUUM");
    database.close();
    figures.push(figure(", after VACUUM"));
  }
  return figures;
};

const start = async (name: string): Promise<number> => {
  const since = performance.now();
  const store = await onDisk(name, "start");
  store.adopt(Date.now(), () => true);
  store.list({ parentSessionID: parentIdOf(TASKS_OF_A_PARENT) });
  const took = performance.now() - since;
  store.close();
  return took;
};

/** The median of some starts, none of which is the first. */
const startsOf = async (name: string): Promise<number> => {
  await start(name);
  const starts: number[] = [];
  while (starts.length < 9) starts.push(await start(name));
  return percentile(starts, 0.5);
};

const measureStart = async (tasks: number): Promise<Figure[]> => {
  const store = await onDisk("many", "before");
  fill(store, tasks);
  // What a process that was killed leaves behind.
  for (let index = 0; index < 5; index += 1) store.commit(storyOf(tasks + index).launch());
  const parent = { parentSessionID: parentIdOf(tasks / 2) };
  const reads = Array.from({ length: 500 }, () => ({
    get: timed(() => void store.get(taskIdOf(tasks / 2))),
    list: timed(() => void store.list(parent)),
  }));
  store.close();
  const size = statSync(join(root, "many", "tasks.db")).size / 1e6;
  const empty = await startsOf("empty");
  const many = await startsOf("many");
  return [
    { what: `size of the file with ${tasks} tasks`, value: size, unit: "MB" },
    {
      what: `start with ${tasks} stored tasks, added to that with none`,
      value: many - empty,
      unit: "ms",
      goal: 100,
      compared: { own: many, other: empty, unit: "ms", with: "no stored task" },
    },
    { what: "start with none", value: empty, unit: "ms" },
    {
      what: "one task read, median",
      value: percentile(
        reads.map(({ get }) => get),
        0.5,
      ),
      unit: "ms",
      goal: 1,
    },
    {
      what: `list of a parent's ${TASKS_OF_A_PARENT} tasks, median`,
      value: percentile(
        reads.map(({ list }) => list),
        0.5,
      ),
      unit: "ms",
      goal: 1,
    },
  ];
};

const held = (store: Store): number => {
  const before = memory();
  for (let index = 0; index < ENDED; index += 1) store.commit(ended(index));
  const taken = memory() - before;
  // Read, so that the store is in use until here.
  if (!store.get(taskIdOf(0))) throw new Error("the first task is not there");
  store.close();
  return taken;
};

const measureMemory = async (): Promise<Figure[]> => [
  { what: `memory of ${ENDED} ended tasks on disk`, value: held(await onDisk("ended", "ended")), unit: "MB", goal: 20 },
  {
    what: `memory of ${ENDED} ended tasks in memory`,
    value: held(createMemory().boot(createVirtualClock())),
    unit: "MB",
  },
];

const { values } = parseArgs({ options: { tasks: { type: "string", default: "100000" } } });
try {
  const figures = [
    ...(await measureChanges()),
    ...(await measureSize()),
    ...(await measureMemory()),
    ...(await measureStart(Number(values.tasks))),
  ];
  report(figures);
} finally {
  rmSync(root, { recursive: true, force: true });
}
