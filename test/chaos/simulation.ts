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
import { callLabel, eventLabel, isRoutine } from "./labels.ts";
import { createTaskObservations, type TaskObservations } from "./observations.ts";
import { createPlainIds } from "./plain-ids.ts";
import type { Schedule } from "./schedule.ts";
import { createSequence, type Sequence } from "./sequence.ts";
import { createSlotWatch, type SlotWatch } from "./slot-watch.ts";
import { createFileStorage, createMemoryStorage, type Storage } from "./storage.ts";
import { createToolCallCounts, REPEAT, TOOL_CALLS, type ToolCallCounts } from "./tool-call-counts.ts";

/** The users' own sessions. */
export const USER_SESSIONS = [PARENT, "ses_second", "ses_third"];

/** What tasks go on with when their model refuses. */
const OTHER_MODELS = [
  { providerID: "fake", modelID: "small" },
  { providerID: "router", modelID: "anthropic/claude" },
];

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
  tellings: Deliveries;
  sequence: Sequence;
  slotWatch: SlotWatch;
  /** The sessions that users created as copies of theirs. */
  copies: Set<string>;
  toolCalls: ToolCallCounts;
  life(): CountedProcess;
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
}: Pick<Schedule, "store" | "recovery" | "slots">): Simulation => {
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
  let life = createCountedProcess();
  const lifeClock = () => life.clock(clock);
  const write = (message: string, extra?: Record<string, unknown>) => {
    const line = `${message} ${JSON.stringify(extra ?? {})}`;
    if (isFault(line)) fault(`the log says: ${line}`);
  };
  const log: Log = { info: write, error: write };
  const storage = store === "file" ? createFileStorage(log) : createMemoryStorage();
  const tracks = createTaskObservations(fault, clock.now);
  const toolCalls = createToolCallCounts(tracks);
  const tellings = createDeliveries(host, tracks, fault);

  const wire = createEventStream((event, fault) => {
    const way = fault?.is === "lost" ? "lost" : "event";
    if (fault || event.type !== "text") sequence.say("host", way, "engine", eventLabel(event, fault));
  });

  const calls = createCalls({
    called: (name, args) => {
      if (isQuitting && name === "prompt") fault("a process that was quit sent a prompt");
      if (!isRoutine(name)) sequence.say("engine", "call", "host", callLabel(name, args));
      const [first] = args;
      if (name === "prompt") tellings.prompted(first as Prompt);
      if (name === "abort" && typeof first === "string") {
        if (USER_SESSIONS.includes(first)) fault(`${first}, a person's session, was aborted`);
        tracks.aborts(first);
        world.agents.abort(first);
      }
    },
    struck: (name, args, by) => sequence.say("host", "lost", "engine", callLabel(name, args, by)),
  });

  const listen: FakeHost["listen"] = (to) => {
    toolCalls.forgetCalls();
    const hear: typeof to = (event) => {
      toolCalls.heard(event, (taskId) => stage.store.isAttended(taskId));
      to(event);
    };
    host.listen(wire.endAt(hear, lifeClock()));
  };
  const linked = calls.to({ ...host, listen }, lifeClock);
  const slotWatch = createSlotWatch(slots, clock.now, fault);
  const stage = createStage({
    openStore: (of) => slotWatch.watch(storage.boot(of)),
    clock,
    ids,
    host: linked,
    life,
    recovery,
    budget: { toolCalls: TOOL_CALLS },
    loop: { repeat: REPEAT },
    concurrency: { default: slots },
    fallback: { agents: { general: OTHER_MODELS }, after: 10_000 },
  });
  let said = 0;
  let isQuitting = false;

  const attend = () => {
    const current = life;
    stage.engine.subscribe((task) => {
      if (current.isOver()) return;
      if (tracks.of(task.sessionID)?.state !== task.state) {
        sequence.note(task.sessionID, task.state === task.status ? task.status : `${task.state}`);
      }
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
    agents: createAgents({ stage, host, clock, tracks, tellings, toolCalls, sequence, isOver: () => life.isOver() }),
    tracks,
    tellings,
    sequence,
    slotWatch,
    copies: new Set(),
    toolCalls,
    life: () => life,
    faults,
    fault,
    reboot: async (down) => {
      life.die();
      world.agents.die();
      host.crash();
      sequence.note("engine,host", down > 0 ? `OpenCode ends, for ${down} ms` : "OpenCode ends, and starts again");
      await clock.advance(down);
      life = createCountedProcess();
      await stage.restart(life);
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
        if (line.startsWith(NOTICE_GIVEN_UP)) tellings.givenUp(JSON.parse(line.slice(NOTICE_GIVEN_UP.length)).runs);
      }
      said = stage.logged.length;
    },
  };
  attend();
  return world;
};
