import type { Prompt } from "../../src/machines/task/events.ts";
import { NOTICE_GIVEN_UP } from "../../src/services/delivery/notices.ts";
import type { Log } from "../../src/services/platform/log.ts";
import { createFakeHost, type FakeHost } from "../fakes/fake-host.ts";
import { createStage, PARENT, type Stage } from "../fakes/stage.ts";
import { createVirtualClock, type VirtualClock } from "../fakes/virtual-clock.ts";
import { wholeTasks } from "../services/store/whole-tasks.ts";
import { type Agents, createAgents } from "./agents.ts";
import { type Calls, createCalls } from "./calls.ts";
import { type CountedProcess, createCountedProcess } from "./counted-process.ts";
import { createDeliveries, type Deliveries } from "./deliveries.ts";
import { createEventStream, type EventStream } from "./event-stream.ts";
import { watchOutboxes } from "./histories.ts";
import { callLabel, eventLabel, isRoutine } from "./labels.ts";
import { createLimitWatch, type LimitWatch } from "./limit-watch.ts";
import { type Limits, USUAL_LIMITS } from "./limits.ts";
import { createTaskObservations, type TaskObservations } from "./observations.ts";
import { createPlainIds } from "./plain-ids.ts";
import type { Schedule } from "./schedule.ts";
import { createSequence, type Sequence } from "./sequence.ts";
import { createSlotWatch, type SlotWatch } from "./slot-watch.ts";
import { createFileStorage, createMemoryStorage, type Storage } from "./storage.ts";
import { createUsageCounts, type UsageCounts } from "./usage-counts.ts";

/** The users' own sessions. */
export const USER_SESSIONS = [PARENT, "ses_second", "ses_third"];

/** The plugin on a fake host, with the faults between them and a record of everything that was seen. */
export interface Simulation {
  clock: VirtualClock;
  /** The host itself: calls made here meet no fault. */
  host: FakeHost;
  stage: Stage;
  storage: Storage;
  wire: EventStream;
  calls: Calls;
  agents: Agents;
  tracks: TaskObservations;
  deliveries: Deliveries;
  sequence: Sequence;
  slotWatch: SlotWatch;
  /** The sessions that users created as copies of theirs. */
  copies: Set<string>;
  usage: UsageCounts;
  limits: Limits;
  limitWatch: LimitWatch;
  life(): CountedProcess;
  /** From now on no process dies by itself. */
  liveOn(): void;
  /** Descriptions of the violated invariants. */
  faults: readonly string[];
  fault(words: string): void;
  /** Kills the process together with its host. After `down` milliseconds another one starts. */
  reboot(down: number): Promise<void>;
  /** The user quits OpenCode: its process starts the plugin once more, and ends `lingers` milliseconds later. */
  quit(lingers: number): Promise<void>;
  /** Compares what is stored with what was seen. */
  look(): void;
}

/**
 * True for a log line that reports a fault of the plugin; the death of a process is none. Its message alone counts: what
 * the host failed to do stands among the fields after it.
 */
const isFault = (line: string): boolean => {
  const [message = ""] = line.split(" {", 1);
  return (
    /\b(fault in|listener failed|could not be stored|heartbeat failed|poll failed|damaged)\b/.test(message) &&
    !/the process has died|a fault in the call/.test(line)
  );
};

export const createSimulation = ({
  store,
  recovery,
  slots,
  lifetime = Number.POSITIVE_INFINITY,
  limits = USUAL_LIMITS,
}: Omit<Schedule, "steps">): Simulation => {
  const sequence = createSequence();
  const faults: string[] = [];
  const fault = (words: string) => {
    if (faults.includes(words)) return;
    faults.push(words);
    sequence.note("engine", `not as it ought to be: ${words}`);
  };
  const clock = createVirtualClock();
  const ids = createPlainIds();
  const host = createFakeHost(clock, ids);
  for (const id of USER_SESSIONS) host.addSession(id);
  /** How many calls each process lives for; without end once everything is to come to rest. */
  let longest = lifetime;
  const begin = (): CountedProcess => {
    const begun = createCountedProcess();
    begun.dieAfter(longest);
    return begun;
  };
  let life = begin();
  const lifeClock = () => life.clock(clock);
  const write = (message: string, extra?: Record<string, unknown>) => {
    const line = `${message} ${JSON.stringify(extra ?? {})}`;
    if (isFault(line)) fault(`the log says: ${line}`);
  };
  const log: Log = { info: write, error: write };
  const storage = store === "file" ? createFileStorage(log) : createMemoryStorage();
  const tracks = createTaskObservations(fault, clock.now, (taskId) => stage.store.isAttended(taskId));
  const usage = createUsageCounts(tracks, limits);
  const deliveries = createDeliveries(host, tracks, fault);

  const wire = createEventStream((event, fault) => {
    const way = fault?.is === "lost" ? "lost" : "event";
    if (fault || event.type !== "text") sequence.say("host", way, "engine", eventLabel(event, fault));
  });

  /** A prompt that was sent before the quit may arrive after it: then the process does work in the directory. */
  const isWorking = () => host.sessionIDs().some((id) => host.at(id).busy);

  const calls = createCalls({
    called: (name, args) => {
      if (isQuitting && name === "prompt" && !isWorking()) fault("a process that was quit sent a prompt");
      if (!isRoutine(name)) sequence.say("engine", "call", "host", callLabel(name, args));
      const [first] = args;
      if (name === "prompt") deliveries.prompted(first as Prompt);
      if (name === "abort" && typeof first === "string") {
        if (USER_SESSIONS.includes(first)) fault(`${first}, a person's session, was aborted`);
        tracks.aborts(first);
        world.agents.abort(first);
      }
    },
    struck: (name, args, by) => sequence.say("host", "lost", "engine", callLabel(name, args, by)),
  });

  const listen: FakeHost["listen"] = (to) => {
    usage.forgetCalls();
    const hear: typeof to = (event) => {
      usage.heard(event, (taskId) => stage.store.isAttended(taskId));
      world.limitWatch.heard(event);
      to(event);
    };
    host.listen(wire.endAt(hear, lifeClock()));
  };
  const linked = calls.to({ ...host, listen }, lifeClock);
  const slotWatch = createSlotWatch({ total: slots, ...limits.concurrency }, clock.now, fault);
  const stage = createStage({
    openStore: (of) => slotWatch.watch(storage.boot(of)),
    inspect: watchOutboxes(fault),
    clock,
    ids,
    host: linked,
    life,
    recovery,
    timeouts: { run: limits.runTime, stale: limits.stale },
    budget: {
      toolCalls: limits.toolCalls,
      tokens: limits.tokens,
      cost: limits.cost,
      tasksPerParent: limits.tasksPerParent,
    },
    loop: { repeat: limits.repeat },
    concurrency: { default: slots, ...limits.concurrency },
    fallback: limits.fallback,
  });
  const limitWatch = createLimitWatch({ stage, tracks, usage, slotWatch, limits, struck: calls.struck, fault });
  let said = 0;
  let isQuitting = false;

  const attend = () => {
    const current = life;
    stage.engine.subscribe((task) => {
      if (current.isOver()) return;
      if (tracks.of(task.sessionID)?.state !== task.state) {
        sequence.note(task.sessionID, task.state === task.status ? task.status : `${task.state}`);
      }
      limitWatch.see(task);
      tracks.see(task);
    });
  };

  const world: Simulation = {
    clock,
    host,
    stage,
    storage,
    wire,
    calls,
    agents: createAgents({ stage, host, clock, tracks, deliveries, usage, sequence, isOver: () => life.isOver() }),
    tracks,
    deliveries,
    sequence,
    slotWatch,
    copies: new Set(),
    usage,
    limits,
    limitWatch,
    life: () => life,
    liveOn: () => {
      longest = Number.POSITIVE_INFINITY;
      life.dieAfter(longest);
    },
    faults,
    fault,
    reboot: async (down) => {
      life.die();
      tracks.processEnded();
      world.agents.die();
      host.crash();
      sequence.note("engine,host", down > 0 ? `OpenCode ends, for ${down} ms` : "OpenCode ends, and starts again");
      await clock.advance(down);
      life = begin();
      await stage.restart(life);
      limitWatch.began();
      attend();
    },
    quit: async (lingers) => {
      world.agents.part();
      sequence.note("engine,host", `OpenCode is quit, opens the directory again, and ends after ${lingers} ms`);
      const quitting = life;
      const lingering = createCountedProcess();
      isQuitting = true;
      try {
        await stage.reopen(lingering);
        life = lingering;
        limitWatch.began();
        attend();
        await clock.advance(lingers);
      } catch (error) {
        // It may die for another reason before it has closed everything.
        if (!quitting.isOver()) throw error;
      } finally {
        isQuitting = false;
      }
      // Both are the same process: work left over from before ends with it.
      quitting.die();
      await world.reboot(0);
    },
    look: () => {
      tracks.compare(wholeTasks(stage.store));
      for (const line of stage.logged.slice(said)) {
        if (isFault(line)) fault(`the log says: ${line}`);
        if (line.startsWith(NOTICE_GIVEN_UP)) deliveries.givenUp(JSON.parse(line.slice(NOTICE_GIVEN_UP.length)).runs);
      }
      said = stage.logged.length;
    },
  };
  attend();
  return world;
};
