import { isAtRest } from "../../../src/machines/task/machine.ts";
import type { Order, RunName } from "../../../src/services/fleet/messages.ts";
import type { TaskRecord } from "../../../src/services/store/store.ts";
import type { Task } from "../../../src/task.ts";
import { createMemory, type Memory } from "../../fakes/disk.ts";
import { createMemoryEngine, type MemoryEngine } from "../../fakes/memory-bus.ts";
import { createStage, PARENT, type Stage } from "../../fakes/stage.ts";
import { createVirtualClock, type VirtualClock } from "../../fakes/virtual-clock.ts";
import { createLine, type Line } from "./line.ts";
import { type FleetSchedule, LEASE } from "./steps.ts";

/** How often a run may be begun. */
export const ATTEMPTS = 2;

/** Milliseconds for which an order waits for a server. */
export const PATIENCE = 300_000;

/** A server of the fleet: the whole plugin, on a host and a line of its own. */
export interface Server {
  id: string;
  stage: Stage;
  memory: Memory;
  line: Line;
  /** The names of the runs that its agents were seen to work on last, by the tasks here. */
  runs: Map<string, string>;
}

/** An agent at work on a run, on some server. */
export interface Work {
  server: Server;
  /** The task there. */
  taskId: string;
  /** Names the run in the whole fleet. */
  run: string;
}

/** An order that a server took. */
export interface Taking {
  /** The model whose limit counts; empty where none does. */
  key: string;
  /** How many tasks of that model might be at work then. */
  most: number;
  at: number;
}

/** A fleet that is simulated: all that happens in it, happens in this process, on a clock that is moved by hand. */
export interface FleetWorld {
  clock: VirtualClock;
  engine: MemoryEngine & { isAway(): boolean };
  servers: readonly Server[];
  homes: readonly Server[];
  limits: Record<string, number | null>;
  /** When the engine was set up anew, the last time. */
  wipedAt: number;
  /** What agents said at the end of each run, by its name. */
  answers: Map<string, string[]>;
  /** The runs that were to be cancelled. */
  cancelled: Set<string>;
  /** The newest taking of a run by a server. */
  takingOf(work: Work): Taking | undefined;
  /** Numbers things. */
  next(): number;
  faults: string[];
  fault(words: string): void;
}

const nameOf = ({ home, task, run }: RunName): string => `${home}.${task}.${run}`;

/** Creates a fleet without any task. */
export const createFleetWorld = ({ homes, workers, homesWork }: FleetSchedule): FleetWorld => {
  const clock = createVirtualClock();
  const engine = createMemoryEngine(clock, LEASE);
  const takings = new Map<string, Taking>();
  const faults: string[] = [];
  let isAway = false;
  let count = 0;

  const fault = (words: string) => {
    if (!faults.includes(words)) faults.push(words);
  };
  const onTaken = (id: string) => (order: Order) => {
    const { key } = order;
    const most = world.limits[key] ?? Number.POSITIVE_INFINITY;
    takings.set(`${id} ${nameOf(order)}`, { key, most, at: clock.now() });
  };
  const add = (id: string, work: number): Server => {
    const line = createLine(onTaken(id));
    const membership = () => ({
      ...{ bus: line.connect(engine.connect()), server: { id, label: id }, pool: "project", project: "project", work },
      ...{ offer: ["explore", "general"], attempts: ATTEMPTS, patience: PATIENCE, version: "0.1.0" },
      newId: () => `id_${world.next()}`,
      commits: {
        published: async () => ({ ok: true, value: "c0ffee" }) as const,
        obstacle: async () => undefined,
      },
    });
    const memory = createMemory();
    const stage = createStage({
      clock,
      openStore: memory.boot,
      fleet: membership,
      worktrees: {
        make: async () => ({ ok: true, value: { id: "worktree", directory: "/", isShared: true } }),
        prepare: async () => ({ ok: true, value: undefined }),
      },
    });
    return { id, stage, memory, line, runs: new Map() };
  };
  const launching = Array.from({ length: homes }, (_, index) => add(`home_${index + 1}`, homesWork ? 1 : 0));
  const working = workers.map((slots, index) => add(`worker_${index + 1}`, slots));
  const world: FleetWorld = {
    clock,
    engine: {
      ...engine,
      isAway: () => isAway,
      cutOff: () => {
        isAway = true;
        engine.cutOff();
      },
      bringBack: () => {
        isAway = false;
        engine.bringBack();
      },
      wipe: () => {
        isAway = false;
        world.wipedAt = clock.now();
        engine.wipe();
      },
    },
    servers: [...launching, ...working],
    homes: launching,
    limits: {},
    wipedAt: Number.NEGATIVE_INFINITY,
    answers: new Map(),
    cancelled: new Set(),
    takingOf: ({ server, run }) => takings.get(`${server.id} ${run}`),
    next: () => {
      count += 1;
      return count;
    },
    faults,
    fault,
  };
  return world;
};

/** True while the process of a server runs: it was neither ended nor stopped. */
export const isUp = ({ stage: { life } }: Server): boolean => !life.isOver() && !life.isPaused();

/** True while a server runs and reaches the engine. */
export const isReached = (world: FleetWorld, server: Server): boolean =>
  isUp(server) && !server.line.isCut() && !world.engine.isAway();

/** Names the newest run of a task that was launched on a server. */
export const runOf = ({ id }: Server, { sessionID, resumeCount }: Task): string =>
  nameOf({ home: id, task: sessionID, run: resumeCount });

/** Names the run that an agent of a server works on, in the whole fleet. */
const workedOn = (server: Server, { task, snapshot }: TaskRecord): string => {
  const { facts, run } = snapshot.context;
  const order = run.index === 0 ? facts.order : run.order;
  return order ? nameOf(order) : runOf(server, task);
};

/** The agents that are at work. */
export const atWork = (world: FleetWorld): Work[] =>
  world.servers.filter(isUp).flatMap((server) => {
    const { host, store } = server.stage;
    return host.sessionIDs().flatMap((taskId) => {
      if (taskId === PARENT || !host.at(taskId).busy) return [];
      const record = store.get(taskId);
      if (record) server.runs.set(taskId, workedOn(server, record));
      const run = server.runs.get(taskId);
      return run === undefined ? [] : [{ server, taskId, run }];
    });
  });

/** The tasks that were launched on a server for its own agents. */
export const ownTasks = ({ stage: { store } }: Server): Task[] =>
  store.list({ parentSessionID: PARENT }).flatMap(({ sessionID }) => store.get(sessionID)?.task ?? []);

/** Says what is still to be done in the fleet; undefined where that is nothing. */
export const whyNotQuiet = (world: FleetWorld): string | undefined => {
  const { servers, engine } = world;
  for (const { id, stage } of servers) {
    for (const { sessionID } of stage.store.list({})) {
      const record = stage.store.get(sessionID);
      if (record && !isAtRest(record.snapshot)) return `${sessionID} of ${id} is ${stage.engine.get(sessionID)?.state}`;
      const open = record?.snapshot.context.userRequests ?? [];
      if (open.length > 0) return `${sessionID} of ${id} asks, though it has ended`;
    }
    const busy = stage.host.sessionIDs().filter((sessionID) => stage.host.at(sessionID).busy);
    if (busy.length > 0) return `${busy.join(", ")} of ${id} still work`;
  }
  if (engine.orders() > 0) return `${engine.orders()} orders are still queued`;
  if (engine.holds().length > 0) return `somebody still has ${engine.holds().join(", ")}`;
  return undefined;
};
