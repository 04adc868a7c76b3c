import type { Prompt } from "../../src/machines/task/events.ts";
import { NOTICE_GIVEN_UP } from "../../src/services/engine/delivery/notices.ts";
import type { HostMessage } from "../../src/services/host/host.ts";
import type { Store } from "../../src/services/store/store.ts";
import { hasEnded, type Task } from "../../src/task.ts";
import { createFakeHost, type FakeHost } from "../fakes/fake-host.ts";
import { createStage } from "../fakes/stage.ts";
import type { VirtualClock } from "../fakes/virtual-clock.ts";
import { wholeTasks } from "../services/store/whole-tasks.ts";
import { createAgents } from "./agents.ts";
import { createCalls } from "./calls.ts";
import { type CountedProcess, createCountedProcess } from "./counted-process.ts";
import { createEventStream } from "./event-stream.ts";
import { createGateCommands, GATE_TRIES } from "./gates.ts";
import { watchOutboxes } from "./histories.ts";
import { REQUEST_COST } from "./invariants.ts";
import { createLimitWatch } from "./limit-watch.ts";
import { USUAL_LIMITS } from "./limits.ts";
import type { Schedule } from "./schedule.ts";
import { callLabel, eventLabel, isRoutine } from "./sequence.ts";
import { createSharedParts, isFault, USER_SESSIONS } from "./shared-parts.ts";
import type { Simulation } from "./simulation.ts";
import { createSituations } from "./sometimes.ts";
import { wordsOfToolset } from "./toolsets.ts";
import { undelivered } from "./undelivered.ts";
import { createUsageCounts } from "./usage-counts.ts";
import { createReminderWatch, createRequestWatch, watchRetention } from "./watches.ts";

const isBeingWritten = ({ role, completedAt }: HostMessage): boolean =>
  role === "assistant" && completedAt === undefined;

type AfterArgs = Parameters<VirtualClock["after"]>;

/** Creates one OpenCode process, by default the only one. `place` is its number among those that share the parts. */
export const createSimulation = (
  settings: Omit<Schedule, "steps">,
  shared = createSharedParts(settings),
  place = 0,
  situations = createSituations(),
): Simulation => {
  const { recovery, slots, toolset = "tasks", onParentCancel = "cancel" } = settings;
  const { lifetime = Number.POSITIVE_INFINITY, limits = USUAL_LIMITS } = settings;
  const { clock, clocks, ids, storage, tracks, deliveries, abandonedRuns, slotWatch, faults, fault, ownership } =
    shared;
  const machineClock = clocks.of(place);
  const sequence = shared.sequence.of(place);
  // What a stopped process has under way does not go on.
  const hostClock = ownership
    ? { now: machineClock.now, after: (...given: AfterArgs) => lifeClock().after(...given) }
    : clock;
  const host = createFakeHost(hostClock, ids, shared.sessions);
  host.requestCost = REQUEST_COST;
  if (typeof settings.parentsTake === "number") host.repliesAfter(settings.parentsTake);
  /** How many calls each process lives for; without end once everything is to come to rest. */
  let longest = lifetime;
  const begin = (): CountedProcess => {
    const begun = createCountedProcess();
    begun.dieAfter(longest);
    begun.whenOver(() => storage.leaves?.(owner, machineClock.now()));
    return begun;
  };
  let life = begin();
  /** Undefined while the process is not stopped. */
  let frozenSince: number | undefined;
  let awakeSince = clock.now();
  const atWorkOnWaking = new Map<string, string>();
  /** What this process had at work when it woke, though another one has taken it over, and has not been stopped here yet. */
  const toBeStopped = new Set<string>();
  let owner = "";
  const lifeClock = () => life.clock(machineClock);
  const usage = createUsageCounts(tracks, limits);
  const supervisorChanged = () => {
    tracks.supervisorChanged();
    abandonedRuns.supervisorChanged();
  };

  /** While a process cannot use the file, it may have older copies of what another one supervises, or has removed. */
  const seeNewer = (stored: Task[]) => {
    for (const task of stored) {
      const { sessionID, resumeCount } = task;
      const seen = tracks.of(sessionID);
      const isOlder =
        seen &&
        (resumeCount < seen.resumeCount || (resumeCount === seen.resumeCount && hasEnded(seen) && !hasEnded(task)));
      if (!isOlder && !tracks.isGone(sessionID)) tracks.see(task);
    }
  };

  const wire = createEventStream((event, fault) => {
    const way = fault?.is === "lost" ? "lost" : "event";
    if (fault || event.type !== "text") sequence.say("host", way, "engine", eventLabel(event, fault));
  }, tracks.wasRefused);

  const isThere = (sessionID: string) => host.sessionIDs().includes(sessionID);

  /** A prompt that was sent before the quit may arrive after it: then the process does work in the directory. */
  const isWorking = () => host.sessionIDs().some((id) => host.at(id).busy);

  const calls = createCalls({
    called: (name, args) => {
      if (isQuitting && name === "prompt" && !isWorking()) fault("a process that was quit sent a prompt");
      if (!isRoutine(name)) sequence.say("engine", "call", "host", callLabel(name, args));
      const [first] = args;
      if (name === "prompt") {
        // A notice may be sent because the last task of a batch ended, or was removed, at this very moment.
        const stored = wholeTasks(stage.store);
        if (storage.trouble?.isUnderWay()) seeNewer(stored);
        else tracks.seeStored(stored);
        const prompt = first as Prompt;
        deliveries.prompted(prompt);
        // What another process clears while this one delivers its end is stored as nobody's any more.
        const told = deliveries.tasksIn(prompt.messageID);
        if (told.length === 0 || !told.every(tracks.isGone)) ownership?.prompted(owner, prompt);
      }
      // The session of a launch whose process was stopped, and goes on with it when it wakes.
      if (name === "deleteSession" && ownership && !tracks.of(first as string)) tracks.isDeleted(first as string);
      const atWork = name === "abort" ? undefined : [...toBeStopped].find((id) => isThere(id) && host.at(id).busy);
      // While the file cannot be used, it cannot know that another process has taken that over.
      if (atWork && !storage.trouble?.isUnderWay())
        fault(`${owner} calls ${name} before it stops ${atWork}, which ${ownership?.supervisorOf(atWork)} has`);
      if (name === "abort" && typeof first === "string") {
        toBeStopped.delete(first);
        if (USER_SESSIONS.includes(first)) fault(`${first}, a person's session, was aborted`);
        // A process that has lost a task stops what it has under way itself, though the task may have ended elsewhere. Where
        // the other one's host has not gone on with it, that looks there as if a person had aborted it.
        if (!ownership || ownership.supervisorOf(first) === owner) tracks.aborts(first);
        else tracks.mayEnd(first);
        const task = tracks.of(first);
        // A person has gone on in the session of an ended task, and is stopped with those that launched it.
        if (task && hasEnded(task) && isThere(first) && host.at(first).busy) shared.stopped.add(first);
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
      reminderWatch.heard(event, life);
      requestWatch.heard(event);
      to(event);
    };
    host.listen(wire.endAt(hear, lifeClock()));
  };
  const linked = calls.to({ ...host, listen }, lifeClock);
  const slotProcess = { isOver: () => life.isOver(), isPaused: () => life.isPaused() };
  const openStore = (of: VirtualClock) => {
    // Whatever starts in a process ends with it.
    const process = life;
    const store = slotWatch.watch(
      storage.boot(of, ownership ? () => !process.isOver() : undefined, place),
      slotProcess,
    );
    owner = storage.newestOwner();
    const adopt: Store["adopt"] = (...given) => {
      const work = store.adopt(...given);
      if (work.tasks.length > 0) supervisorChanged();
      return work;
    };
    const swept = watchRetention(store, {
      tracks,
      fault,
      undelivered: (tasks) => undelivered({ host, tracks, deliveries, abandonedRuns }, tasks),
    });
    const noted = { ...swept, adopt };
    return ownership ? ownership.watch(noted) : noted;
  };
  const gateCommands = createGateCommands(limits.gate, lifeClock);
  let { isHeadless } = limits;
  const outboxes = watchOutboxes(fault);
  const sometimes = situations.watch();
  const stage = createStage({
    openStore,
    inspect: (observation) => {
      outboxes(observation);
      sometimes(observation);
    },
    clock: machineClock,
    ids,
    host: linked,
    life,
    toolsets: [toolset],
    onParentCancel,
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
    gate: {
      agents: limits.gate.length > 0 ? { general: "npm test" } : {},
      tries: GATE_TRIES,
      timeout: 60_000,
      before: limits.gateBefore,
    },
    schema: { agents: limits.typed.length > 0 ? { general: { type: "string" } } : {} },
    runCommand: gateCommands.run,
    ...(limits.attention === undefined ? {} : { attentionTimeout: limits.attention }),
    isHeadless: () => isHeadless,
    retention: limits.retention,
    promptCache: limits.promptCache,
  });
  shared.stores.push(() => stage.store);
  const limitWatch = createLimitWatch({ stage, tracks, usage, slotWatch, limits, struck: calls.struck, fault });
  const requestWatch = createRequestWatch({
    stage,
    // Without a person, the engine rejects a question as soon as it is asked; a permission, the host rejects itself.
    timeoutOf: (kind) => (limits.isHeadless && kind === "question" ? 0 : limits.attention),
    struck: calls.struck,
    fault,
  });
  const reminderWatch = createReminderWatch(stage, calls.struck);
  let said = 0;
  let isQuitting = false;

  const attend = () => {
    const current = life;
    stage.engine.subscribe((task) => {
      if (current.isOver()) return;
      // A process that cannot use the file does not hear what another one has removed.
      if (storage.trouble?.isUnderWay() && tracks.isGone(task.sessionID)) return;
      if (tracks.of(task.sessionID)?.state !== task.state) {
        sequence.note(task.sessionID, task.state === task.status ? task.status : `${task.state}`);
      }
      limitWatch.see(task);
      tracks.see(task);
    });
  };

  const world: Simulation = {
    clock,
    machineClock,
    clocks,
    note: situations.note,
    host,
    stage,
    storage,
    wire,
    calls,
    agents: createAgents({
      ...{ stage, host, clock, tracks, deliveries, abandonedRuns, usage, sequence, fault },
      words: wordsOfToolset(toolset, onParentCancel),
      place: ownership ? place : undefined,
      isOver: () => life.isOver(),
    }),
    api: shared.apiRequests.of(
      stage,
      {
        now: machineClock.now,
        after: (...given: AfterArgs) => lifeClock().after(...given),
      },
      () => life,
    ),
    apiRequests: shared.apiRequests,
    tracks,
    deliveries,
    abandonedRuns,
    sequence,
    slotWatch,
    copies: shared.copies,
    stopped: shared.stopped,
    usage,
    limits,
    limitWatch,
    unreminded: () => (clocks.areOff() ? [] : reminderWatch.missing(life)),
    ownership,
    owner: () => owner,
    life: () => life,
    freeze: () => {
      sequence.note("engine,host", "OpenCode is stopped");
      storage.leaves?.(owner, machineClock.now());
      frozenSince ??= clock.now();
      // Another process may take over what this one was about to stop.
      abandonedRuns.supervisorChanged();
      life.pause();
    },
    wake: () => {
      if (frozenSince === undefined) return;
      sequence.note("engine,host", "OpenCode wakes");
      const stopped = clock.now() - frozenSince;
      frozenSince = undefined;
      awakeSince = clock.now();
      atWorkOnWaking.clear();
      for (const id of host.sessionIDs().filter((session) => host.at(session).busy)) {
        atWorkOnWaking.set(id, host.at(id).messages.findLast(isBeingWritten)?.id ?? "");
      }
      toBeStopped.clear();
      for (const id of atWorkOnWaking.keys()) if ((ownership?.supervisorOf(id) ?? owner) !== owner) toBeStopped.add(id);
      limitWatch.wasPaused(stopped);
      life.wake();
      slotWatch.wasPaused();
    },
    wasPaused: (ms) => {
      awakeSince = clock.now();
      // What was due meanwhile happens on waking, and is looked at as soon as it does.
      limitWatch.wasPaused(ms);
      life.wake();
      slotWatch.wasPaused();
      abandonedRuns.wasPaused();
    },
    isFrozen: () => frozenSince !== undefined,
    atWorkOnWaking: () => atWorkOnWaking,
    awakeSince: () => (frozenSince !== undefined || life.isOver() ? undefined : awakeSince),
    openForPeople: async () => {
      if (!isHeadless) return;
      isHeadless = false;
      await world.reboot(0);
    },
    liveOn: () => {
      gateCommands.pass();
      longest = Number.POSITIVE_INFINITY;
      life.dieAfter(longest);
    },
    faults,
    fault,
    reboot: async (down) => {
      life.die();
      supervisorChanged();
      world.agents.die();
      host.crash();
      sequence.note("engine,host", down > 0 ? `OpenCode ends, for ${down} ms` : "OpenCode ends, and starts again");
      frozenSince = undefined;
      // All that it had under way has ended with it.
      toBeStopped.clear();
      await clock.advance(down);
      life = begin();
      awakeSince = clock.now();
      await stage.restart(life);
      limitWatch.began();
      requestWatch.began();
      attend();
    },
    quit: async (lingers) => {
      storage.leaves?.(owner, machineClock.now());
      world.agents.part();
      sequence.note("engine,host", `OpenCode is quit, opens the directory again, and ends after ${lingers} ms`);
      const quitting = life;
      const lingering = createCountedProcess();
      isQuitting = true;
      try {
        await stage.reopen(lingering);
        life = lingering;
        limitWatch.began();
        requestWatch.began();
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
      // What another process could not write yet, this one does not see.
      if (storage.trouble?.isUnderWay()) return;
      const stored = wholeTasks(stage.store);
      limitWatch.look(stored);
      requestWatch.look(stored);
      tracks.compare(stored);
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
