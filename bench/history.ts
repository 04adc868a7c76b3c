/**
 * `node bench/history.ts [--tasks N]` and the same with `bun`
 *
 * What it costs to look through all tasks, of which there are 100,000 by default: any page with any filter, counts, one
 * task, and what changed; while another process and this one change tasks in between. Exits with 1 when a goal is missed.
 * Takes about a minute and writes 2 GB into the folder for temporary files.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { openStore } from "../src/services/store/open-store.ts";
import type { PageFilter, Store } from "../src/services/store/store.ts";
import { noProgress } from "../src/task.ts";
import { serve } from "../test/fakes/served.ts";
import { createStage } from "../test/fakes/stage.ts";
import { ownerOf } from "../test/services/store/owners.ts";
import { type Figure, report } from "./figures.ts";
import { median, percentile, timed } from "./measuring.ts";
import { batchIdOf, fill, storyOf, taskIdOf } from "./stored-tasks.ts";

const ROUNDS = 40;

/** Milliseconds for a search, which reads the texts of all tasks. */
const LONGEST_SEARCH = 20;

const { values } = parseArgs({ options: { tasks: { type: "string", default: "100000" } } });
const tasks = Number(values.tasks);
const root = mkdtempSync(join(tmpdir(), "taskchart-bench-"));

const log = {
  info: () => undefined,
  error: (message: string, extra?: Record<string, unknown>) => {
    throw new Error(`${message} ${JSON.stringify(extra)}`);
  },
};

const open = (id: string): Store => openStore({ folder: root, owner: ownerOf(id, { startedAt: Date.now() }), log });

const PAGES: Readonly<Record<string, Partial<PageFilter>>> = {
  "the first page": {},
  "200 of the first page": { limit: 200 },
  "the page in the middle": { offset: tasks / 2 },
  "the last page": { offset: tasks - 50 },
  "status completed, the last page": { status: "completed", offset: tasks - 50 },
  "status running": { status: "running" },
  "an agent, deep": { agent: "explore", offset: tasks / 4 },
  "a directory": { directory: "/home/somebody/projects/3" },
  "a batch": { batchId: batchIdOf(35) },
  "a search that all match, the last page": { search: "(", offset: tasks - 50 },
  "a search that many match": { search: "ÜBERSICHT" },
  "a search that few match": { search: "flow (777" },
  "a search that none match": { search: "no such words" },
  "a search of two letters": { search: "in" },
  "a search that many match, with all other filters": {
    search: "the",
    status: "completed",
    agent: "general",
    directory: "/home/somebody/projects/3",
    offset: tasks / 60,
  },
};

/** The figures of one question, asked again and again; before each time, something changed. */
const figureOf = (what: string, ask: () => void, change: (round: number) => void): Figure => {
  const times = Array.from({ length: ROUNDS }, (_, round) => {
    change(round);
    return timed(ask);
  });
  const goal = what.startsWith("a search") ? LONGEST_SEARCH : 10;
  return { what: `${what}, median`, value: median(times), unit: "ms", goal };
};

/** Paths of the status API. What the store does not take goes into validating, writing as JSON, and the socket. */
const PATHS = [
  "/v1/tasks",
  `/v1/tasks?offset=${tasks / 2}`,
  `/v1/tasks?status=completed&offset=${tasks - 50}`,
  "/v1/tasks?search=flow",
  `/v1/tasks?search=the&status=completed&agent=general&directory=/home/somebody/projects/3&offset=${Math.floor(tasks / 60)}`,
  "/v1/stats",
  "/v1/health",
  `/v1/tasks/${taskIdOf(tasks / 2)}`,
  `/v1/task-groups/${batchIdOf(45)}`,
];

/** The longest page has more than 1 MB; its time is mostly that of writing and reading so much. */
const LONGEST_PAGE = "/v1/tasks?limit=200";

/** The time that paths take over a socket, asked by this process itself. */
const measureServed = async (store: Store): Promise<Figure[]> => {
  const served = await serve(createStage({ openStore: () => store }));
  const figures: Figure[] = [];
  for (const path of [...PATHS, LONGEST_PAGE]) {
    const times: number[] = [];
    while (times.length < ROUNDS) {
      const since = performance.now();
      const { status } = await served.get(path);
      if (status !== 200) throw new Error(`${path} is answered with ${status}`);
      times.push(performance.now() - since);
    }
    const figure: Figure = { what: path.slice(0, 60), value: median(times), unit: "ms" };
    const goal = path.includes("search=") ? LONGEST_SEARCH : 10;
    figures.push(path === LONGEST_PAGE ? figure : { ...figure, goal });
  }
  await served.stop();
  return figures;
};

const measure = (store: Store, other: Store): Figure[] => {
  const live = Array.from({ length: 20 }, (_, index) => storyOf(tasks + index));
  live.forEach((story, index) => void (index % 2 ? store : other).commit(story.launch()));
  const changes: number[] = [];
  const change = (round: number) => {
    const counted = (index: number) =>
      new Map([[taskIdOf(tasks + index), { ...noProgress("2026-01-01T00:00:00.000Z"), toolCalls: round }]]);
    other.storeProgress(counted((2 * round) % 20));
    changes.push(timed(() => store.storeProgress(counted((2 * round + 1) % 20))));
  };
  const first = timed(() => void store.page({ limit: 50, offset: 0 }));
  const pages = Object.entries(PAGES).map(([what, filter]) =>
    figureOf(what, () => void store.page({ limit: 50, offset: 0, ...filter }), change),
  );
  let seen = store.latestChange();
  const follow = () => {
    seen = store.changedSince(seen, 1_000).at(-1)?.change ?? seen;
  };
  const rest: Record<string, () => void> = {
    tallies: () => void store.stats(),
    "one task": () => void store.get(taskIdOf(tasks / 2)),
    "the tasks of a batch": () => void store.batch(batchIdOf(45)),
    "the live tasks": () => void store.live(),
    "the newest change": () => void store.latestChange(),
    "what changed since the last look": follow,
    "requests for this process": () => void store.takeCommands(),
  };
  const figures = Object.entries(rest).map(([what, ask]) => figureOf(what, ask, change));
  return [
    ...pages,
    ...figures,
    { what: "a change of progress, median", value: median(changes), unit: "ms", goal: 1 },
    { what: "a change of progress, p99", value: percentile(changes, 0.99), unit: "ms" },
    { what: "the 200 newest ended tasks", value: timed(() => void store.newestEnded(200)), unit: "ms" },
    { what: "the very first page of a process", value: first, unit: "ms" },
  ];
};

try {
  const before = await open("before");
  fill(before, tasks);
  before.close();
  const [store, other] = [await open("store"), await open("other")];
  const figures = [...measure(store, other), ...(await measureServed(store))];
  store.close();
  other.close();
  report(figures);
} finally {
  rmSync(root, { recursive: true, force: true });
}
