/**
 * `node bench/store.ts [--tasks N]` and the same with `bun`
 *
 * What the store on disk costs: a state change, a start beside many stored tasks, and the memory that ended tasks take,
 * each beside the store in memory where that can be compared. Prompts have 1 kB, results 4 kB. Exits with 1 when a goal
 * is missed. With 100,000 stored tasks, the default, it takes about a minute and writes 2 GB into the folder for
 * temporary files.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createMemoryStore } from "../src/services/store/memory-store.ts";
import { openStore } from "../src/services/store/open-store.ts";
import type { Change, Store } from "../src/services/store/store.ts";
import { ownerOf } from "../test/store/owners.ts";
import { type Story, tell } from "../test/store/story.ts";

const PROMPT = "Look at each file. ".repeat(54);
const RESULT = "This is what I found. ".repeat(187);
/** A session of a person launches about so many tasks. */
const TASKS_OF_A_PARENT = 20;
const CHANGES = 3_000;
const ENDED = 10_000;

interface Figure {
  what: string;
  value: number;
  unit: "ms" | "MB";
  /** Met below this; undefined: only to compare. */
  goal?: number;
}

const root = mkdtempSync(join(tmpdir(), "taskchart-bench-"));
const owner = (id: string) => ownerOf(id, { startedAt: Date.now() });

const log = {
  info: () => undefined,
  error: (message: string, extra?: Record<string, unknown>) => {
    throw new Error(`${message} ${JSON.stringify(extra)}`);
  },
};

const onDisk = (name: string, id: string): Promise<Store> =>
  openStore({ folder: join(root, name), owner: owner(id), log });

/** A text that shares no memory with another's. */
const own = (text: string, index: number): string => Buffer.from(`${index} ${text}`).toString();

const storyOf = (index: number): Story =>
  tell(`ses_${index}`, {
    after: index,
    prompt: own(PROMPT, index),
    parentSessionID: `ses_parent_${Math.floor(index / TASKS_OF_A_PARENT)}`,
  });

const ended = (index: number): Change => {
  const story = storyOf(index);
  const changes = [story.launch(), story.answer(own(RESULT, index)), story.tell()];
  return { records: [story.record()], journal: changes.flatMap(({ journal }) => journal), prompts: [] };
};

const timed = (work: () => void): number => {
  const since = performance.now();
  work();
  return performance.now() - since;
};

const percentile = (values: number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN;

/** Milliseconds for each change of the lives of tasks, one after the other: launch, answer, told. */
const changesOf = (store: Store): number[] =>
  Array.from({ length: CHANGES / 3 }, (_, index) => storyOf(index)).flatMap((story) =>
    [() => story.launch(), () => story.answer(RESULT), () => story.tell()].map((chapter) => {
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
  const [stored, remembered] = [changesOf(disk), changesOf(createMemoryStore())];
  disk.close();
  return [
    { what: "state change on disk, median", value: percentile(stored, 0.5), unit: "ms", goal: 1 },
    { what: "state change on disk, p99", value: percentile(stored, 0.99), unit: "ms" },
    { what: "state change in memory, median", value: percentile(remembered, 0.5), unit: "ms" },
    { what: "state change in memory, p99", value: percentile(remembered, 0.99), unit: "ms" },
  ];
};

const start = async (name: string): Promise<number> => {
  const since = performance.now();
  const store = await onDisk(name, "start");
  store.adopt(Date.now(), () => true);
  store.list({ parentSessionID: "ses_parent_1" });
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
  for (let index = 0; index < tasks; index += 200) {
    const changes = Array.from({ length: 200 }, (_, more) => ended(index + more));
    store.commit({
      records: changes.flatMap(({ records }) => records),
      journal: changes.flatMap(({ journal }) => journal),
      prompts: [],
    });
  }
  // What a process that was killed leaves behind.
  for (let index = 0; index < 5; index += 1) store.commit(storyOf(tasks + index).launch());
  const parent = { parentSessionID: `ses_parent_${Math.floor(tasks / TASKS_OF_A_PARENT / 2)}` };
  const reads = Array.from({ length: 500 }, () => ({
    get: timed(() => void store.get(`ses_${tasks / 2}`)),
    list: timed(() => void store.list(parent)),
  }));
  store.close();
  const size = statSync(join(root, "many", "tasks.db")).size / 1e6;
  const empty = await startsOf("empty");
  const many = await startsOf("many");
  return [
    { what: `size of the file with ${tasks} tasks`, value: size, unit: "MB" },
    { what: `start with ${tasks} stored tasks, added to that with none`, value: many - empty, unit: "ms", goal: 100 },
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

// Node lends its collector only to those who ask for it by this flag, which may be set late.
setFlagsFromString("--expose-gc");
const collect: () => void = process.versions.bun
  ? () => (globalThis as { Bun?: { gc(force: boolean): void } }).Bun?.gc(true)
  : runInNewContext("gc");

/** Megabytes in use after a thorough collection. */
const memory = (): number => {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1e6;
};

const held = (store: Store): number => {
  const before = memory();
  for (let index = 0; index < ENDED; index += 1) store.commit(ended(index));
  const taken = memory() - before;
  // Read, so that the store is in use until here.
  if (!store.get("ses_0")) throw new Error("the first task is not there");
  store.close();
  return taken;
};

const measureMemory = async (): Promise<Figure[]> => [
  { what: `memory of ${ENDED} ended tasks on disk`, value: held(await onDisk("ended", "ended")), unit: "MB", goal: 20 },
  { what: `memory of ${ENDED} ended tasks in memory`, value: held(createMemoryStore()), unit: "MB" },
];

const line = ({ what, value, unit, goal }: Figure): string => {
  const verdict = goal === undefined ? "" : value < goal ? `met (under ${goal} ${unit})` : `MISSED (${goal} ${unit})`;
  return `${what.padEnd(62)} ${value.toFixed(unit === "ms" ? 3 : 1).padStart(10)} ${unit}  ${verdict}`;
};

const { values } = parseArgs({ options: { tasks: { type: "string", default: "100000" } } });
try {
  const figures = [
    ...(await measureChanges()),
    ...(await measureMemory()),
    ...(await measureStart(Number(values.tasks))),
  ];
  const runtime = process.versions.bun ? `Bun ${process.versions.bun}` : `Node ${process.versions.node}`;
  process.stdout.write(`${runtime}\n${figures.map(line).join("\n")}\n`);
  if (figures.some(({ value, goal }) => goal !== undefined && !(value < goal))) process.exitCode = 1;
} finally {
  rmSync(root, { recursive: true, force: true });
}
