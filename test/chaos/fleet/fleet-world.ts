import type { PermissionRule } from "../../../src/machines/host-events.ts";
import { isAtRest } from "../../../src/machines/task/machine.ts";
import { type Entry, type Job, limitKey, type RunName } from "../../../src/services/fleet/wire-messages.ts";
import { sleep } from "../../../src/services/platform/clock.ts";
import type { Inspect } from "../../../src/services/runtime/actor-system.ts";
import type { TaskRecord } from "../../../src/services/store/store.ts";
import type { ClaimedJob, Task } from "../../../src/task.ts";
import { createMemory, type Memory } from "../../fakes/disk.ts";
import { createMemoryBroker, type MemoryBroker } from "../../fakes/memory-broker.ts";
import { createStage, PARENT, type Stage } from "../../fakes/stage.ts";
import { createVirtualClock, type VirtualClock } from "../../fakes/virtual-clock.ts";
import { createLine, type Line } from "./line.ts";
import { createRecords, type Records } from "./records.ts";
import type { Meeting, ToRuns } from "./situation-names.ts";
import { type BrokerCall, type FleetSchedule, LEASE, type Trouble } from "./steps.ts";

/** How often a run may be begun. */
export const ATTEMPTS = 2;

/** Milliseconds for which a job waits for a server. */
export const PATIENCE = 300_000;

/** What the agents of those who launch are denied. */
export const DENIED: PermissionRule = { permission: "webfetch", pattern: "*", action: "deny" };

/** Milliseconds that it takes to make a worktree of what was changed. */
const RECEIVED_WITHIN = 1_000;

/** Milliseconds within which servers know what people have set for the fleet. */
const KNOWN_WITHIN = 20_000;

/** A server of the fleet: the whole plugin, on a host and a line of its own. */
export interface Server {
  id: string;
  stage: Stage;
  memory: Memory;
  line: Line;
  /** How many runs of others it works on at once. */
  work: number;
  records: Records;
  /** When its process started. */
  startedAt: number;
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

/** A job that a server took. */
export interface Taking {
  /** The model whose limit counts; empty where none does. */
  key: string;
  /** How many tasks of that model might be at work then. */
  most: number;
  at: number;
}

/** Observes what happens in a fleet. */
export interface FleetObserver {
  /** Observes the charts of all servers. */
  inspect: Inspect;
  onTrouble(call: BrokerCall, is: Trouble): void;
  onWritten(world: FleetWorld, log: RunName, entry: Entry): void;
  /** Called at least every 5 s, with the agents that are at work. */
  look(world: FleetWorld, works: readonly Work[]): void;
  /** `which` are the runs that it happens to. Default: all. */
  onRuns(world: FleetWorld, what: ToRuns, which?: (run: string) => boolean): void;
  onMeeting(what: Meeting): void;
}

/** What is known of a fleet beside its servers, before anything has happened. */
const newState = () => ({
  limits: {} as Record<string, number | null>,
  /** When each limit was set last. */
  limitedAt: new Map<string, number>(),
  /** When the broker forgot something, the last time. */
  forgotAt: Number.NEGATIVE_INFINITY,
  /** The servers that are to take no more jobs, and since when. */
  drained: new Map<Server, number>(),
  /** Milliseconds that servers take to begin a run: now, and at most so far. */
  beginTakes: 0,
  beginTook: 0,
  /** The runs that are being begun by servers that take long for it: the id of each one's server. */
  beginning: new Set<{ by: string }>(),
  /** What agents said at the end of each run, by its name. */
  answers: new Map<string, string[]>(),
  /** The runs that were to be cancelled, and were asked to be, by their origins. */
  cancelled: new Set<string>(),
  /** The tasks that somebody tried to cancel, by their origins and ids. */
  cancelTried: new Set<string>(),
  /** What has failed that is no agent: calls by their names, and the kinds of other steps. */
  troubles: new Set<string>(),
  /** True once hints may have been missed. */
  hasBeenDeaf: false,
  /** What was changed, by the ids of the worktrees that origins have made of it. */
  received: new Map<string, string>(),
  /** Called with each entry that comes into a log. */
  whenWritten: [] as ((log: RunName, entry: Entry) => void)[],
  faults: [] as string[],
});

/** A fleet that is simulated: all that happens in it, happens in this process, on a clock that is moved by hand. */
export interface FleetWorld extends ReturnType<typeof newState> {
  clock: VirtualClock;
  broker: MemoryBroker & { isAway(): boolean };
  /** Sets the broker back to the newest copy that was made since it was set up. */
  setBack(): void;
  servers: readonly Server[];
  origins: readonly Server[];
  readonly hasTrouble: boolean;
  /** The newest taking of a run by a server. */
  takingOf(work: Pick<Work, "server" | "run">): Taking | undefined;
  /** The server that took the job of a run last, and has not given it back. */
  takerOf(run: string): string | undefined;
  situations: FleetObserver | undefined;
  /** Numbers things. */
  next(): number;
  fault(words: string): void;
}

/** Names a run in the whole fleet. */
export const nameOf = ({ origin, task, run }: RunName): string => `${origin}.${task}.${run}`;

/** Creates a fleet without any task. */
export const createFleetWorld = (
  { origins, workers, originsWork }: FleetSchedule,
  situations?: FleetObserver,
): FleetWorld => {
  const clock = createVirtualClock();
  const broker = createMemoryBroker(clock, LEASE);
  const takings = new Map<string, Taking>();
  const takers = new Map<string, string>();
  const state = newState();
  const { troubles, received, faults } = state;
  let setBack: () => void = () => undefined;
  let isAway = false;
  let count = 0;

  const fault = (words: string) => {
    if (!faults.includes(words)) faults.push(words);
  };
  const onTaken = (id: string) => (job: Job) => {
    // A server that did not renew a job in time is given it anew, and puts it back: it works on as before.
    if (atWork(world).some(({ server, run }) => server.id === id && run === nameOf(job))) return;
    const key = limitKey(job.model);
    const most = world.limits[key] ?? Number.POSITIVE_INFINITY;
    // A server that has read the limits before this one was set takes a job that was queued before that.
    const isKnown = job.key !== "" || clock.now() - (world.limitedAt.get(key) ?? clock.now()) > KNOWN_WITHIN;
    takings.set(`${id} ${nameOf(job)}`, { key: isKnown ? key : "", most, at: clock.now() });
    const server = world.servers.find((one) => one.id === id);
    const since = server && isReached(world, server) ? world.drained.get(server) : undefined;
    if (since !== undefined && clock.now() - since > KNOWN_WITHIN && [...troubles].every((one) => one === "drain"))
      fault(`${id} takes a job, though it is to take no more`);
    takers.set(nameOf(job), id);
    if (job.key === "" && key in world.limits) situations?.onMeeting("permitLater");
  };
  const add = (id: string, work: number): Server => {
    const line = createLine(clock, {
      onTaken: onTaken(id),
      onGivenBack: (job) => {
        if (takers.get(nameOf(job)) === id) takers.delete(nameOf(job));
      },
      onConflict: (lease) => {
        if (lease.startsWith("limit.")) situations?.onMeeting("noPermit");
      },
      onTrouble: (call, is) => situations?.onTrouble(call, is),
      onWritten: (log, entry) => {
        situations?.onWritten(world, log, entry);
        for (const listener of world.whenWritten) listener(log, entry);
      },
    });
    const membership = () => ({
      ...{
        broker: line.connect(broker.connect()),
        server: { id, label: id },
        pool: "project",
        project: "project",
        work,
      },
      ...{ offer: ["explore", "general"], attempts: ATTEMPTS, patience: PATIENCE, version: "0.1.0" },
      newId: () => `id_${world.next()}`,
      commits: {
        published: async () => ({ ok: true, value: "c0ffee" }) as const,
        obstacle: async () => undefined,
      },
    });
    const [memory, records] = [createMemory(), createRecords()];
    const stage = createStage({
      clock,
      openStore: (of) => records.watch(memory.boot(of)),
      fleet: membership,
      worktrees: {
        make: async () => {
          if (world.beginTakes > 0) {
            const begun = { by: id };
            world.beginning.add(begun);
            await sleep(clock, world.beginTakes);
            world.beginning.delete(begun);
          }
          return { ok: true, value: { id: "worktree", directory: "/", isShared: true } };
        },
        prepare: async () => ({ ok: true, value: undefined }),
        // Each run of such an agent changes something.
        patchOf: async ({ sessionID, agent, resumeCount }) =>
          agent === "explore" ? Buffer.from(`what ${id}/${sessionID} changed in run ${resumeCount}`) : undefined,
        receive: async ({ id: changes, patch }) => {
          await sleep(clock, RECEIVED_WITHIN);
          const text = Buffer.from(patch).toString();
          const others = [...received].filter(([other, same]) => other !== changes && same === text);
          if (others.length > 0) fault(`${text}, and ${id} makes two worktrees of that`);
          received.set(changes, text);
          return { ok: true, value: { id: changes, directory: "/", isShared: true } };
        },
        putAway: () => undefined,
      },
      ...(situations ? { inspect: situations.inspect } : {}),
    });
    stage.host.at(PARENT).permission = [DENIED];
    return { id, stage, memory, line, work, records, startedAt: clock.now(), runs: new Map() };
  };
  const launching = Array.from({ length: origins }, (_, index) => add(`origin_${index + 1}`, originsWork ? 1 : 0));
  const working = workers.map((slots, index) => add(`worker_${index + 1}`, slots));
  const world: FleetWorld = {
    ...state,
    clock,
    broker: {
      ...broker,
      isAway: () => isAway,
      cutOff: () => {
        isAway = true;
        broker.cutOff();
      },
      bringBack: () => {
        isAway = false;
        broker.bringBack();
      },
      wipe: () => {
        isAway = false;
        world.forgotAt = clock.now();
        situations?.onRuns(world, "wiped");
        setBack = () => undefined;
        broker.wipe();
      },
      copy: () => {
        const back = broker.copy();
        setBack = () => {
          world.forgotAt = clock.now();
          situations?.onRuns(world, "setBack");
          back();
        };
        return setBack;
      },
      loseJobs: () => {
        world.forgotAt = clock.now();
        situations?.onRuns(world, "jobsLost");
        broker.loseJobs();
      },
    },
    servers: [...launching, ...working],
    origins: launching,
    setBack: () => setBack(),
    get hasTrouble() {
      return troubles.size > 0;
    },
    situations,
    takerOf: (run) => takers.get(run),
    takingOf: ({ server, run }) => takings.get(`${server.id} ${run}`),
    next: () => {
      count += 1;
      return count;
    },
    fault,
  };
  return world;
};

/** True while the process of a server runs: it was neither ended nor stopped. */
export const isUp = ({ stage: { life } }: Server): boolean => !life.isOver() && !life.isPaused();

/** True while a server runs and reaches the broker, which answers all that it asks. Hints may be missed. */
export const isReached = (world: FleetWorld, server: Server): boolean =>
  isUp(server) && !server.line.isCut() && !server.line.isBad() && !world.broker.isAway();

/** Names the newest run of a task that was launched on a server. */
export const runOf = ({ id }: Server, { sessionID, resumeCount }: Task): string =>
  nameOf({ origin: id, task: sessionID, run: resumeCount });

/** Whose run a task works on; undefined where that is its own server's. */
export const jobOf = ({ snapshot }: Pick<TaskRecord, "snapshot">): ClaimedJob | undefined => {
  const { facts, run } = snapshot.context;
  return run.index === 0 ? facts.job : run.job;
};

/** Names the run that an agent of a server works on, in the whole fleet. */
const workedOn = (server: Server, record: TaskRecord): string => {
  const job = jobOf(record);
  return job ? nameOf(job) : runOf(server, record.task);
};

/** What a server has stored of a task. */
export const recordOf = ({ records }: Server, taskId: string): TaskRecord | undefined =>
  records.all().find(({ task }) => task.sessionID === taskId);

/** The agents that are at work. */
export const atWork = (world: FleetWorld): Work[] =>
  world.servers.filter(isUp).flatMap((server) => {
    const { host } = server.stage;
    return host.sessionIDs().flatMap((taskId) => {
      if (taskId === PARENT || !host.at(taskId).busy) return [];
      const record = recordOf(server, taskId);
      if (record) server.runs.set(taskId, workedOn(server, record));
      const run = server.runs.get(taskId);
      return run === undefined ? [] : [{ server, taskId, run }];
    });
  });

/** The tasks that were launched on a server for its own agents. */
export const ownTasks = ({ records }: Server): Task[] =>
  records.all().flatMap(({ task }) => (task.parentSessionID === PARENT ? task : []));

/** Returns what is still to be done in the fleet; undefined where that is nothing. */
export const whyNotQuiet = (world: FleetWorld): string | undefined => {
  const { servers, broker } = world;
  for (const { id, stage, records } of servers) {
    for (const { task, snapshot } of records.all()) {
      const { sessionID } = task;
      if (!isAtRest(snapshot)) return `${sessionID} of ${id} is ${stage.engine.get(sessionID)?.state}`;
      if (snapshot.context.userRequests.length > 0) return `${sessionID} of ${id} asks, though it has ended`;
    }
    const busy = stage.host.sessionIDs().filter((sessionID) => stage.host.at(sessionID).busy);
    if (busy.length > 0) return `${busy.join(", ")} of ${id} still work`;
  }
  if (world.beginning.size > 0) return `${world.beginning.size} runs are being begun`;
  if (broker.jobs() > 0) return `${broker.jobs()} jobs are still queued`;
  if (broker.leases().length > 0) return `somebody still has ${broker.leases().join(", ")}`;
  return undefined;
};
