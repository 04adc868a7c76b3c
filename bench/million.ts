/**
 * `node bench/million.ts [--tasks N]` and the same with `bun`
 *
 * What grows with the number of stored tasks, of which there are 10,000 in one file and 1,000,000 in another: the start of a
 * process, pages, one task, searches, and the memory of a process. Both files are asked in turn, so that the load of the
 * machine changes both alike. Exits with 1 when a goal is missed. Takes some minutes, and writes 3 GB into the folder for
 * temporary files, which it removes.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openStore } from "../src/services/store/open-store.ts";
import type { PageFilter, Store } from "../src/services/store/store.ts";
import { ownerOf } from "../test/services/store/owners.ts";
import { fillInBulk, TASKS_OF_A_BATCH } from "./bulk-tasks.ts";
import { type Figure, report } from "./figures.ts";
import { median, memory, timed } from "./measuring.ts";

const FEW = 10_000;
const ROUNDS = 41;
const SEARCH_ROUNDS = 7;

/** Milliseconds for which the slowest search may block the host. */
const LONGEST_SEARCH = 1_000;

/** Megabytes that a process may have in use for more tasks: it keeps none of them. */
const MORE_MEMORY = 4;

const { values } = parseArgs({
  options: { tasks: { type: "string", default: "1000000" }, memory: { type: "string" } },
});
const many = Number(values.tasks);

const log = {
  info: () => undefined,
  error: (message: string, extra?: Record<string, unknown>) => {
    throw new Error(`${message} ${JSON.stringify(extra)}`);
  },
};

const open = (folder: string): Store =>
  openStore({ folder, owner: ownerOf(`bench ${performance.now()}`, { startedAt: Date.now() }), log });

type Pages = Readonly<Record<string, Partial<PageFilter>>>;

/** Pages that must take as long with many tasks as with few. `middle` is half of the tasks. */
const PAGES: Pages = {
  "first page": {},
  "status completed": { status: "completed" },
  "status error": { status: "error" },
  "an agent": { agent: "agent 2" },
  "a directory": { directory: "/home/somebody/projects/3" },
  "a directory of long ago": { directory: "/home/somebody/projects/old" },
  "status, agent and directory": { status: "error", agent: "agent 2", directory: "/home/somebody/projects/0" },
  "a batch": { batchId: `batch_${Math.floor(FEW / TASKS_OF_A_BATCH / 2)}` },
};

/** Pages that may take longer the more tasks there are. */
const growingPages = (tasks: number): Pages => ({
  "the page in the middle": { offset: tasks / 2 },
  "the page in the middle of a status": { status: "completed", offset: tasks / 2 },
  "the page in the middle of an agent": { agent: "agent 2", offset: tasks / 8 },
  "a search that all match": { search: "LOOK AT" },
  "a search that many match": { search: "übersicht" },
  "a search that many match, its middle": { search: "übersicht", offset: tasks / 10 },
  "a search that few match": { search: "part 777" },
  "a search that none match": { search: "no such words" },
  "a search of two letters": { search: "at" },
  "a search of one letter": { search: "8" },
  "a search in an agent's tasks": { search: "parser", agent: "agent 2" },
  "a search in a status": { search: "part 77", status: "completed" },
  "a search in a directory": { search: "part 77", directory: "/home/somebody/projects/old" },
});

const ask = (store: Store, filter: Partial<PageFilter>) => {
  store.page({ offset: 0, limit: 50, ...filter });
};

/** What happens when a process starts, up to the first answer of `/v1/health`. */
const start = async (folder: string): Promise<void> => {
  const store = await open(folder);
  store.adopt(Date.now(), () => true);
  store.heartbeat(Date.now());
  store.sweep({ days: 36_500, count: many }, Date.now());
  if (store.stats().total < FEW) throw new Error("tasks are missing");
  store.close();
};

const since = async (work: () => Promise<void>): Promise<number> => {
  const at = performance.now();
  await work();
  return performance.now() - at;
};

/** Works on the file of few and on that of many tasks in turn. Returns both medians, and their ratio. */
const compare = async (what: string, work: (of: "few" | "many") => Promise<number> | number): Promise<Figure[]> => {
  const times = { few: [] as number[], many: [] as number[] };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const file of ["few", "many"] as const) times[file].push(await work(file));
  }
  const [few, more] = [median(times.few), median(times.many)];
  return [
    { what: `${what}: ${FEW} tasks`, value: few, unit: "ms" },
    { what: `${what}: ${many} tasks`, value: more, unit: "ms" },
    {
      what: `${what}: ratio`,
      value: more / few,
      unit: "x",
      goal: 2,
      compared: { own: more, other: few, unit: "ms", with: `${FEW} tasks` },
    },
  ];
};

/** Megabytes that a process has in use, and in all, after it asked for every page. */
const memoryOf = (folder: string): { used: number; resident: number } => {
  const { stdout, stderr, status } = spawnSync(process.execPath, [import.meta.filename, "--memory", folder]);
  if (status !== 0) throw new Error(String(stderr));
  return JSON.parse(String(stdout));
};

const printMemory = async (folder: string): Promise<void> => {
  const store = await open(folder);
  for (const filter of [...Object.values(PAGES), ...Object.values(growingPages(FEW))]) ask(store, filter);
  const used = memory();
  process.stdout.write(JSON.stringify({ used, resident: process.memoryUsage().rss / 1e6 }));
  store.close();
};

const measure = async (folders: Readonly<Record<"few" | "many", string>>): Promise<Figure[]> => {
  const stores = { few: await open(folders.few), many: await open(folders.many) };
  const figures: Figure[] = [];
  for (const [what, filter] of Object.entries(PAGES)) {
    figures.push(...(await compare(what, (of) => timed(() => ask(stores[of], filter)))));
  }
  let nth = 0;
  const oneTask = (of: "few" | "many") => {
    nth = (nth + 4_999) % FEW;
    return timed(() => void stores[of].get(`ses_${of === "few" ? nth + 1 : (nth + 1) * (many / FEW)}`));
  };
  figures.push(...(await compare("one task", oneTask)));
  figures.push(...(await compare("counts", (of) => timed(() => void stores[of].stats()))));
  for (const [what, filter] of Object.entries(growingPages(many))) {
    const times = Array.from({ length: SEARCH_ROUNDS }, () => timed(() => ask(stores.many, filter)));
    figures.push({ what: `${what}: ${many} tasks`, value: median(times), unit: "ms", goal: LONGEST_SEARCH });
  }
  for (const store of Object.values(stores)) store.close();
  figures.push(...(await compare("a start", (of) => since(() => start(folders[of])))));
  const [few, more] = [memoryOf(folders.few), memoryOf(folders.many)];
  return [
    ...figures,
    { what: "memory in use: more with many tasks", value: more.used - few.used, unit: "MB", goal: MORE_MEMORY },
    { what: `resident memory: ${FEW} tasks`, value: few.resident, unit: "MB" },
    { what: `resident memory: ${many} tasks`, value: more.resident, unit: "MB" },
    {
      what: "resident memory: ratio",
      value: more.resident / few.resident,
      unit: "x",
      goal: 2,
      compared: { own: more.resident, other: few.resident, unit: "MB", with: `${FEW} tasks` },
    },
  ];
};

const run = async (): Promise<void> => {
  const root = mkdtempSync(join(tmpdir(), "taskchart-bench-"));
  try {
    const folders = { few: join(root, "few"), many: join(root, "many") };
    for (const [folder, tasks] of [
      [folders.few, FEW],
      [folders.many, many],
    ] as const) {
      // Creates the folder.
      (await open(folder)).close();
      await fillInBulk(join(folder, "tasks.db"), tasks);
    }
    const bytes = statSync(join(folders.many, "tasks.db")).size;
    report([...(await measure(folders)), { what: "file, per task", value: bytes / many / 1e3, unit: "kB" }]);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
};

await (values.memory === undefined ? run() : printMemory(values.memory));
