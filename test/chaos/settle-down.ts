import { isAtRest } from "../../src/machines/task/machine.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { wholeTasks } from "../services/store/whole-tasks.ts";
import { checkBudgets } from "./budgets.ts";
import { isPausedIn } from "./pause-steps.ts";
import { USER_SESSIONS } from "./shared-parts.ts";
import type { Simulation } from "./simulation.ts";

/** Removes all faults: from now on everything works. */
const removeFaults = (world: Simulation) => {
  const { host, wire, calls } = world;
  world.storage.trouble?.end();
  world.clocks.catchUp();
  world.wake();
  world.life().wake();
  world.liveOn();
  wire.mend();
  calls.mend();
  host.childHabits("work");
  for (const id of host.sessionIDs()) {
    host.habits(id, USER_SESSIONS.includes(id) ? "reply" : "work");
    if (host.at(id).revertedTo !== undefined) host.unrevert(id);
    if (host.at(id).archivedAt !== undefined) host.archive(id, false);
  }
};

/** An answer that is JSON fits a schema: all schemas here want a string. */
const answerOf = ({ host, limits: { typed }, stage }: Simulation, sessionID: string): string => {
  const { messages } = host.at(sessionID);
  const words = `answer ${messages.length} of ${sessionID}`;
  const answers = messages.filter(({ role }) => role === "assistant").length;
  const isTyped = stage.store.get(sessionID)?.task.schema !== undefined;
  return isTyped && typed[answers % typed.length] === "fits" ? JSON.stringify(words) : words;
};

/** The model of a session gives its final answer, a different one each time. */
export const finishRun = (
  world: Simulation,
  sessionID: string,
  how: { idles?: number; unwritten?: boolean; unseen?: boolean } = {},
) => world.host.finish(sessionID, answerOf(world, sessionID), how);

/** Answers every open request and finishes every run. */
const answerAll = (world: Simulation) => {
  const { host, stage } = world;
  for (const id of host.sessionIDs()) {
    const { userRequests: requests } = stage.store.get(id)?.snapshot.context ?? { userRequests: [] };
    for (const { id: requestID } of requests) host.emit({ type: "replied", sessionID: id, requestID });
    if (host.at(id).busy) finishRun(world, id);
  }
};

/** Has every paused task of the process go on. */
const continueAll = (world: Simulation) => {
  const paused = wholeTasks(world.stage.store).filter(({ sessionID }) => isPausedIn(world, sessionID));
  // One that is still being paused is asked again in the next round.
  if (paused.length > 0) void world.stage.engine.continue(paused.map(({ sessionID }) => sessionID));
};

/** Number of timers of an idle engine: its seven recurring checks, and no alarm. Where runs are limited in time, that is an eighth. */
const WATCHES = 7;

/**
 * Returns sessions that were created for tasks but belong to none. A session without mark and parent cannot be
 * distinguished from a user's own.
 */
export const orphanedSessions = ({ host, tracks, copies }: Simulation): string[] =>
  host.sessionIDs().filter((id) => {
    const { forkOf, metadata } = host.at(id);
    const isAnybodys = forkOf !== undefined && !metadata.taskchart && !host.sessionIDs().includes(forkOf);
    return !USER_SESSIONS.includes(id) && !copies.has(id) && !tracks.of(id) && !isAnybodys;
  });

/** Says why the system is not idle yet; undefined if it is. */
export const whyNotIdle = (worlds: readonly [Simulation, ...Simulation[]]): string | undefined => {
  const [world] = worlds;
  const lost = orphanedSessions(world);
  if (lost.length > 0) return `${lost.join(", ")} were made for tasks, and have none`;
  // If the creation of a session failed without an error, only the next process can be sure of it.
  const launches = world.storage.launches();
  const unmade = worlds.reduce((sum, { calls }) => sum + calls.unmade(), 0);
  if (launches > unmade) return `${launches} launches are still stored as under way`;
  return worlds.map(whyProcessNotIdle).find((why) => why !== undefined);
};

const whyProcessNotIdle = (world: Simulation): string | undefined => {
  const { host, stage, agents, life } = world;
  const busy = host.sessionIDs().filter((id) => host.at(id).busy);
  if (busy.length > 0) return `${busy.join(", ")} still work`;
  const open = agents.open();
  if (open.length > 0) return `${open.map(({ callID, tool }) => `${callID} (${tool})`).join(", ")} have not come back`;
  const live = wholeTasks(stage.store).filter(({ sessionID }) => {
    const record = stage.store.get(sessionID);
    return record !== undefined && !isAtRest(record.snapshot);
  });
  const timers = life().timers();
  const watches = WATCHES + (world.limits.runTime === undefined ? 0 : 1);
  // What a launch has left, if anything, is looked for until OpenCode can have created it no more: an alarm is set for that.
  const mostTimers = watches + (world.storage.launches() > 0 ? 1 : 0);
  if (live.length === 0 && (timers < watches || timers > mostTimers))
    return `${timers} timers are set, and ${watches} is all that an engine at rest needs`;
  if (live.length === 0) return undefined;
  return live
    .map(({ sessionID, state }) => {
      const { value, context } = stage.store.get(sessionID)?.snapshot ?? {};
      return `${sessionID} is ${state}, its notice ${String(value?.notice)}, waited for by ${context?.waiters.join(", ") || "none"}`;
    })
    .join("; ");
};

/** Pauses (ms) within which everything must become idle. The longest pause of an outbox is a minute. */
const ROUNDS = [...Array<number>(6).fill(1_000), ...Array<number>(8).fill(5_000), ...Array<number>(20).fill(15_000)];

/** Milliseconds, longer than any delay of events and calls: late ones then arrive at an idle system. */
const AFTERWARDS = 8_500;

/** Milliseconds for which tasks are left waiting for a person, or for their own: long enough for others to get their slots. */
const LEFT_WAITING = 5_000;

/** Removes all faults, answers and finishes everything, and waits until the system is idle. */
export const settleDown = async (worlds: readonly [Simulation, ...Simulation[]]): Promise<void> => {
  const [{ clock }] = worlds;
  worlds.forEach(removeFaults);
  for (const world of worlds) if (world.life().isOver()) await world.reboot(0);
  for (const world of worlds) await world.openForPeople();
  worlds.forEach(removeFaults);
  for (const { sequence } of worlds) sequence.note("engine,host", "from here on all goes well");
  await clock.advance(100);
  for (const world of worlds) await checkBudgets(world);
  await clock.advance(LEFT_WAITING);
  for (const { slotWatch } of worlds) slotWatch.checkNoneIdle();
  // A notice that was to be read in a turn which a person stopped is read when that person goes on, and begins no turn itself.
  const [{ stopped, host }] = worlds;
  for (const id of stopped) if (host.sessionIDs().includes(id) && !host.at(id).busy) host.converse(id);
  for (const pause of ROUNDS) {
    worlds.forEach(continueAll);
    worlds.forEach(answerAll);
    await settled();
    if (whyNotIdle(worlds) === undefined) break;
    await clock.advance(pause);
    for (const world of worlds) world.look();
  }
  await clock.advance(AFTERWARDS);
};
