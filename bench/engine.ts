/**
 * `node bench/engine.ts` and the same with `bun`
 *
 * What the machines and the shell around them cost, without storing anything and with the store on disk: events with many
 * live tasks, a task's whole way from its launch to its reaping beside others that live, the memory of a live task, how long
 * OpenCode waits for a plugin that is disposed of, and a replay. Each parent has twenty tasks.
 * Nothing is asked of a host: each effect is answered at once. Exits with 1 when a goal is missed. Takes about a minute.
 *
 * Where the machine has other work, only ratios say something: a task's way beside many against its way beside few.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Effect, SupervisorEvent } from "../src/machines/supervisor/events.ts";
import type { TaskEvent, TaskInput } from "../src/machines/task/events.ts";
import { replay } from "../src/machines/task/replay.ts";
import { createEventBus } from "../src/services/platform/listeners.ts";
import { createProgressLog } from "../src/services/runtime/progress.ts";
import { createRuntime, type Runtime } from "../src/services/runtime/runtime.ts";
import { openStore } from "../src/services/store/open-store.ts";
import type { Store } from "../src/services/store/store.ts";
import { createDisk, createMemory } from "../test/fakes/disk.ts";
import { createFakeEffects } from "../test/fakes/effects.ts";
import { createStage } from "../test/fakes/stage.ts";
import { START, taskInput } from "../test/fakes/task-input.ts";
import { createVirtualClock } from "../test/fakes/virtual-clock.ts";
import { ownerOf } from "../test/services/store/owners.ts";
import { type Figure, report } from "./figures.ts";
import { median, memory, timed } from "./measuring.ts";
import { resultOf } from "./stored-tasks.ts";

const root = mkdtempSync(join(tmpdir(), "taskchart-bench-"));

const log = {
  info: () => undefined,
  error: (message: string, extra?: Record<string, unknown>) => {
    throw new Error(`${message} ${JSON.stringify(extra)}`);
  },
};

/** Numbers from here on are of tasks that come and go, beside those of the first parent. */
const NEWCOMERS = 1_000_000;

const inputOf = (index: number): TaskInput =>
  taskInput(`ses_${index}`, {
    parentSessionID: `ses_parent_${Math.floor((index % NEWCOMERS) / 20)}`,
    description: `look at files (${index})`,
    prompt: `${index}: ${"Look at each file. ".repeat(54)}`,
  });

/** The answer that a quick host would give to an effect of an outbox; those of tasks are answered by hand. */
const answered = (effect: Effect): SupervisorEvent | undefined => {
  const at = START;
  switch (effect.type) {
    case "readParent": {
      const sender = { agent: "build", model: undefined };
      return {
        type: "OUTBOX",
        id: effect.parentSessionID,
        event: { type: "PARENT_READ", at, sender, othersRun: false },
      };
    }
    case "composeNotice": {
      const runs = effect.queue.map(({ taskId, run }) => ({ taskId, run }));
      const prompt = { messageID: `msg_notice_${runs[0]?.taskId}`, parts: [], runs, toasts: [] };
      return { type: "OUTBOX", id: effect.parentSessionID, event: { type: "COMPOSED", at, prompt } };
    }
    case "sendNotice": {
      const promptID = effect.prompt.messageID;
      return {
        type: "OUTBOX",
        id: effect.parentSessionID,
        event: { type: "PARENT_ANSWERED", at, promptID, createdAt: at },
      };
    }
    default:
      return undefined;
  }
};

const progress = createProgressLog();

const start = (store: Store): Runtime =>
  createRuntime({
    clock: createVirtualClock(START),
    store,
    progress,
    effects: createFakeEffects(answered),
    bus: createEventBus(log),
    log,
  });

/** As the engine launches a task: without the progress, each change would read it from the store. */
const launch = (runtime: Runtime, index: number) => {
  progress.begin(`ses_${index}`, START);
  runtime.dispatch({ type: "LAUNCH", at: START, task: inputOf(index) });
  runtime.send(`ses_${index}`, { type: "PROMPT_ACCEPTED", at: START });
};

/** From an answer to the delivery to the parent; the task is reaped by then. */
const finish = (runtime: Runtime, index: number) => {
  const id = `ses_${index}`;
  runtime.send(id, { type: "HOST_IDLE", at: START });
  runtime.send(id, { type: "CHECKED_ANSWERED", at: START, checkId: 1, completedAt: START, result: resultOf(0) });
  if (runtime.snapshotOf(id)) throw new Error(`${id} was not reaped`);
};

const withLive = async <T>(open: () => Store, live: number, measure: (runtime: Runtime) => T): Promise<T> => {
  const store = open();
  const runtime = start(store);
  for (let index = 0; index < live; index += 1) launch(runtime, index);
  const measured = measure(runtime);
  runtime.stop();
  store.close();
  return measured;
};

/** Hints and looks, round robin: what a busy host causes most. */
const eventsPerSecond = (live: number, rounds: number) => (runtime: Runtime) => {
  let checkId = 0;
  const round = () => {
    checkId += 1;
    for (let index = 0; index < live; index += 1) {
      runtime.send(`ses_${index}`, { type: "HOST_IDLE", at: START });
      runtime.send(`ses_${index}`, { type: "CHECKED_BUSY", at: START, checkId });
    }
  };
  round();
  const took = timed(() => {
    for (let count = 0; count < rounds; count += 1) round();
  });
  return (rounds * live * 2 * 1_000) / took;
};

/** Milliseconds for one task's way, beside so many others. */
const wayBeside = (runtime: Runtime): number => {
  const way = (index: number) => {
    launch(runtime, index);
    finish(runtime, index);
  };
  for (let index = 0; index < 50; index += 1) way(NEWCOMERS + index);
  return median(Array.from({ length: 200 }, (_, index) => timed(() => way(2 * NEWCOMERS + index))));
};

const ofStore = async (name: string, open: () => Store, leastEvents: number | undefined): Promise<Figure[]> => {
  const speed = await withLive(open, 200, eventsPerSecond(200, name === "unstored" ? 150 : 15));
  const [few, many, most] = [
    await withLive(open, 10, wayBeside),
    await withLive(open, 200, wayBeside),
    await withLive(open, 1_000, wayBeside),
  ];
  return [
    {
      what: `events with 200 live tasks, ${name}`,
      value: speed,
      unit: "/s",
      ...(leastEvents === undefined ? {} : { atLeast: leastEvents }),
    },
    { what: `a task's way beside 10 live ones, ${name}`, value: few, unit: "ms" },
    { what: `a task's way beside 200 live ones, ${name}`, value: many, unit: "ms" },
    // On disk it is mostly that of six or seven changes, see bench/store.ts.
    {
      what: `a task's way beside 1,000 live ones, ${name}`,
      value: most,
      unit: "ms",
      goal: name === "unstored" ? 2 : 3,
    },
    {
      what: `a task's way beside 1,000 against 10, ${name}`,
      value: most / few,
      unit: "x",
      goal: 1.5,
      compared: { own: most, other: few, unit: "ms", with: "10 live tasks" },
    },
  ];
};

/** What a live task takes beside its texts, which the store has too. */
const bytesPerTask = async (): Promise<Figure> => {
  const live = 1_000;
  const store = await onDisk();
  const runtime = start(store);
  launch(runtime, 0);
  const before = memory();
  for (let index = 1; index <= live; index += 1) launch(runtime, index);
  const taken = ((memory() - before) * 1_000) / live;
  if (runtime.liveTasks().length !== live + 1) throw new Error("some tasks do not live");
  runtime.stop();
  store.close();
  return { what: "a live task, its store on disk", value: taken, unit: "kB" };
};

/** The whole engine on disk, each task at work; progress was stored a moment ago, as it is every second. */
const disposing = async (live: number): Promise<number> => {
  const disk = createDisk();
  const stage = createStage({ openStore: disk.boot });
  for (let index = 0; index < live; index += 1) {
    const parentSessionID = inputOf(index).facts.parentSessionID;
    if (!stage.host.sessionIDs().includes(parentSessionID)) stage.host.addSession(parentSessionID);
    await stage.launch({}, { sessionID: parentSessionID });
  }
  await stage.clock.advance(1_000);
  const took = timed(stage.engine.stop);
  disk.remove();
  return took;
};

const disposeSpeed = async (): Promise<Figure[]> => {
  const rounds = [await disposing(1_000), await disposing(1_000), await disposing(1_000)];
  return [{ what: "dispose with 1,000 live tasks", value: median(rounds), unit: "ms", goal: 50 }];
};

const replaySpeed = (): Figure => {
  const looks = Array.from({ length: 500 }, (_, index): TaskEvent[] => [
    { type: "HOST_IDLE", at: START },
    { type: "CHECKED_BUSY", at: START, checkId: index + 1 },
  ]).flat();
  const journal: TaskEvent[] = [{ type: "SLOT_GRANTED", at: START }, { type: "PROMPT_ACCEPTED", at: START }, ...looks];
  const fold = () => {
    const { steps } = replay(inputOf(0), journal);
    if (steps.some(({ refused }) => refused !== undefined)) throw new Error("the journal does not replay");
  };
  fold();
  const took = median(Array.from({ length: 20 }, () => timed(fold)));
  return { what: "replay", value: (journal.length * 1_000) / took, unit: "/s", atLeast: 10_000 };
};

let folders = 0;
const onDisk = (): Store => {
  folders += 1;
  return openStore({ folder: join(root, String(folders)), owner: ownerOf("bench", { startedAt: Date.now() }), log });
};

/** A store that changes cost nothing in: what is left is what the machines cost. */
const unstored = (): Store => ({
  ...createMemory().boot(createVirtualClock()),
  commit: () => [],
  get: () => undefined,
});

try {
  report([
    ...(await ofStore("unstored", unstored, 20_000)),
    ...(await ofStore("on disk", onDisk, undefined)),
    await bytesPerTask(),
    ...(await disposeSpeed()),
    replaySpeed(),
  ]);
} finally {
  rmSync(root, { recursive: true, force: true });
}
