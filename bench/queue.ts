/**
 * `node bench/queue.ts` and the same with `bun`
 *
 * What each operation of the queue takes beside 5,000 tasks that wait for a slot of a agent at its limit, and beside 10: the
 * whole plugin with its store on disk, on a fake host whose answers come at once. The two take turns, so that a busy machine
 * slows down both. Exits with 1 when a goal is missed. Takes about a minute.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createReadDirectories } from "../src/services/host/directories.ts";
import { createEngineSource } from "../src/services/http/engine-source.ts";
import { createOpenDirectories } from "../src/services/http/status-api.ts";
import { createIds } from "../src/services/platform/ids.ts";
import { openStore } from "../src/services/store/open-store.ts";
import { createFakeHost } from "../test/fakes/fake-host.ts";
import { createStage, type Stage } from "../test/fakes/stage.ts";
import { createVirtualClock, settled } from "../test/fakes/virtual-clock.ts";
import { ownerOf } from "../test/services/store/owners.ts";
import { type Figure, report } from "./figures.ts";
import { median } from "./measuring.ts";

const [FEW, MANY] = [10, 5_000];
/** Tasks that one conversation launches. */
const TASKS_OF_A_PARENT = 20;
const AT_WORK = 10;
const ROUNDS = 60;
/** How much longer an operation may take beside many. */
const GOAL = 2;
/** The agent whose tasks wait, and one whose tasks do not. */
const [LIMITED, FREE] = ["general", "explore"];

const root = mkdtempSync(join(tmpdir(), "taskchart-bench-"));

const log = {
  info: () => undefined,
  error: (message: string, extra?: Record<string, unknown>) => {
    throw new Error(`${message} ${JSON.stringify(extra)}`);
  },
};

/** The plugin beside so many tasks that wait. */
interface Bench {
  stage: Stage;
  atWork: string[];
  /** The sessions that the host is said to be busy with. */
  busy: Set<string>;
  /** In the order of the queue. */
  waiting: string[];
  launch(agent: string): Promise<string>;
  source(): ReturnType<typeof createEngineSource>;
}

const first = (ids: string[]): string => {
  const id = ids.shift();
  if (id === undefined) throw new Error("no task is left");
  return id;
};

const open = async (tasks: number): Promise<Bench> => {
  let boots = 0;
  const busy = new Set<string>();
  const clock = createVirtualClock();
  const ids = createIds(clock);
  const host = createFakeHost(clock, ids);
  const stage = createStage({
    clock,
    ids,
    // This fake would look through all its sessions for those that are busy.
    host: { ...host, busy: async () => ({ ok: true, value: new Set(busy) }) },
    concurrency: { agents: { [LIMITED]: AT_WORK } },
    openStore: (clock) => {
      boots += 1;
      const owner = ownerOf(`bench ${boots}`, { startedAt: boots });
      return openStore({ folder: join(root, String(tasks)), owner, log, clock });
    },
  });
  let launched = 0;
  const launch = async (agent: string): Promise<string> => {
    const sessionID = `ses_parent_${Math.floor(launched / TASKS_OF_A_PARENT)}`;
    if (launched % TASKS_OF_A_PARENT === 0) stage.host.addSession(sessionID);
    launched += 1;
    const args = { description: "look at files", prompt: "Look at each file. ".repeat(54), agent };
    const { metadata } = await stage.callWhole("task", args, { sessionID });
    const id = String(metadata?.sessionId);
    if (agent === FREE) busy.add(id);
    return id;
  };
  const tasksOfAll: string[] = [];
  for (let index = 0; index < AT_WORK + tasks; index += 1) tasksOfAll.push(await launch(LIMITED));
  await settled();
  for (const id of tasksOfAll.slice(0, AT_WORK)) busy.add(id);
  const source = () => {
    const directories = createOpenDirectories();
    directories.add({ engine: stage.engine, store: stage.store, host: stage.host });
    return createEngineSource(
      directories,
      stage.clock,
      () => "request",
      join(root, "worktrees"),
      createReadDirectories(stage.clock),
    );
  };
  return { stage, atWork: tasksOfAll.slice(0, AT_WORK), waiting: tasksOfAll.slice(AT_WORK), busy, launch, source };
};

/** Milliseconds for one operation. `prepare` is not counted. */
const took = async <T>(
  bench: Bench,
  work: (bench: Bench, prepared: T) => unknown,
  prepare: (bench: Bench) => Promise<T>,
) => {
  const prepared = await prepare(bench);
  await settled();
  const since = performance.now();
  await work(bench, prepared);
  return performance.now() - since;
};

const nothing = async () => undefined;

/** How long it takes beside many against few, in turns. */
const compare = async <T>(
  what: string,
  [few, many]: readonly [Bench, Bench],
  work: (bench: Bench, prepared: T) => unknown,
  prepare: (bench: Bench) => Promise<T>,
): Promise<Figure> => {
  const times: [own: number, other: number][] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const other = await took(few, work, prepare);
    times.push([await took(many, work, prepare), other]);
  }
  const [own, other] = [median(times.map(([time]) => time)), median(times.map(([, time]) => time))];
  return {
    what: `${what} beside ${MANY.toLocaleString("en-US")} waiting tasks against ${FEW}`,
    value: own / other,
    unit: "x",
    atMost: GOAL,
    compared: { own, other, unit: "ms", with: `${FEW} waiting tasks` },
  };
};

/** Ends a run of the agent whose tasks wait, and leaves the queue as long as it was. */
const refill = async (bench: Bench): Promise<string> => {
  bench.waiting.push(await bench.launch(LIMITED));
  return first(bench.atWork);
};

const endAndStartNext = async (bench: Bench, id: string) => {
  bench.stage.host.finish(id, "Done.");
  await settled();
  const next = first(bench.waiting);
  if (bench.stage.task(next).state === "running.queued") throw new Error(`${next} did not start`);
  bench.atWork.push(next);
  bench.busy.delete(id);
  bench.busy.add(next);
};

/** Milliseconds for each task that a process takes over: all wait but ten. */
const adoption = async (bench: Bench): Promise<number> => {
  const tasks = bench.waiting.length + bench.atWork.length;
  await bench.stage.restart();
  const since = performance.now();
  await bench.stage.clock.advance(5_000);
  const time = performance.now() - since;
  const queued = bench.stage.engine.get(bench.waiting.at(-1) ?? "")?.queue?.place;
  if (queued !== bench.waiting.length) throw new Error(`${tasks} tasks were not taken over: ${queued}`);
  return time / tasks;
};

const newest = ({ waiting }: Bench): string => waiting.at(-1) ?? "";

try {
  const benches = [await open(FEW), await open(MANY)] as const;
  const [few, many] = benches;
  const drop = async (bench: Bench) => {
    await bench.stage.engine.cancel([bench.waiting.pop() ?? ""]);
  };
  const figures = [
    await compare(
      "a launch that is queued",
      benches,
      async (bench) => bench.waiting.push(await bench.launch(LIMITED)),
      async (bench) => {
        if (bench.waiting.length > FEW) await drop(bench);
      },
    ),
    await compare("a launch that starts at once", benches, ({ launch }) => launch(FREE), nothing),
    await compare("an end, and the next start", benches, endAndStartNext, refill),
    await compare(
      "a cancel of one that waits",
      benches,
      ({ stage }, id: string) => stage.engine.cancel([id]),
      ({ launch }) => launch(LIMITED),
    ),
    await compare("a task that waits is read", benches, (bench) => bench.stage.engine.get(newest(bench)), nothing),
    await compare(
      "the tasks of a conversation are listed",
      benches,
      ({ stage }) => stage.engine.list({ parentSessionID: "ses_parent_0" }),
      nothing,
    ),
    await compare(
      "the status API shows one that waits",
      benches,
      (bench) => bench.source().task(newest(bench)),
      nothing,
    ),
    await compare(
      "the status API shows ten",
      benches,
      (bench) => bench.source().page({ limit: 10, offset: 0 }),
      nothing,
    ),
    await compare("ten seconds pass", benches, ({ stage }) => stage.clock.advance(10_000), nothing),
  ];
  const [ofMany, ofFew] = [await adoption(many), await adoption(few)];
  figures.push({
    what: `a task is taken over among ${MANY.toLocaleString("en-US")} against ${FEW}`,
    value: ofMany / ofFew,
    unit: "x",
    atMost: GOAL,
    compared: { own: ofMany, other: ofFew, unit: "ms", with: `${FEW} waiting tasks` },
  });
  report(figures);
  for (const { stage } of benches) stage.engine.stop();
} finally {
  rmSync(root, { recursive: true, force: true });
}
