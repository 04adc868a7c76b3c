import { settled } from "../../fakes/virtual-clock.ts";
import { beingCancelled, checkEnd } from "./ends.ts";
import { atWork, createFleetWorld, type FleetWorld, isUp, ownTasks, PATIENCE, whyNotQuiet } from "./fleet-world.ts";
import type { FleetSituations } from "./situations.ts";
import { act, answerThere, finish, restart } from "./step-actions.ts";
import { type FleetSchedule, LEASE, wordsOf } from "./steps.ts";
import { createWatches } from "./watches.ts";

/** The outcome of a schedule. */
export interface FleetOutcome {
  /** Descriptions of what does not hold that must. */
  faults: readonly string[];
  /** What happened, step by step. */
  story: readonly string[];
}

/** Milliseconds within which a task that is cancelled has ended, once all goes well: it is recalled for 70 s, then closed. */
const CANCELLED_WITHIN = 130_000;

/** Milliseconds within which servers that start take jobs. */
const READY_WITHIN = 1_000;

/** Milliseconds between two looks at what must hold. */
const LOOK_EVERY = 5_000;

/** From the moment at which all goes well, agents finish what they have every so many milliseconds. */
const ROUND = 15_000;

/** A job waits for its server, is lost, is enqueued again, and that for each attempt: then all must be quiet. */
const QUIET_WITHIN = 2 * PATIENCE + 10 * LEASE;

/** What is at work, for the story. */
const stateOf = (world: FleetWorld): string => {
  const tasks = world.origins
    .filter(isUp)
    .flatMap((origin) =>
      ownTasks(origin).map(({ sessionID }) => `${origin.id}/${sessionID} ${origin.stage.engine.get(sessionID)?.state}`),
    );
  const works = atWork(world).map(({ server, taskId, run }) => `${server.id}/${taskId} on ${run}`);
  return `${tasks.join(", ")}; at work: ${works.join(", ") || "none"}`;
};

/** Everything is there again, and goes well from now on. */
const bringBack = async (world: FleetWorld) => {
  const { broker, servers } = world;
  world.beginTakes = 0;
  world.drained.clear();
  broker.drain([]);
  if (broker.isAway()) broker.bringBack();
  for (const server of servers) {
    server.line.mend();
    server.stage.life.wake();
    server.stage.life.dieAfter(Number.POSITIVE_INFINITY);
    await restart(server);
  }
};

const isUnderWay = (world: FleetWorld): boolean =>
  world.faults.length === 0 && (atWork(world).length > 0 || beingCancelled(world).length > 0);

/** Runs a schedule until its end or its first fault. */
export const runFleetSchedule = async (
  schedule: FleetSchedule,
  { isTold = false, situations }: { isTold?: boolean; situations?: FleetSituations | undefined } = {},
): Promise<FleetOutcome> => {
  const world = createFleetWorld(schedule, situations);
  const { clock, faults } = world;
  const { look } = createWatches(world);
  const begunAt = clock.now();
  const story: string[] = [];
  const tell = (words: string) => {
    if (isTold && !story.at(-1)?.endsWith(`${words}\n    ${stateOf(world)}`))
      story.push(`${(clock.now() - begunAt) / 1_000} s: ${words}\n    ${stateOf(world)}`);
  };
  const pass = async (ms: number) => {
    for (let left = ms; left > 0 && faults.length === 0; left -= LOOK_EVERY) {
      await clock.advance(Math.min(left, LOOK_EVERY));
      look();
    }
  };
  const settleDown = async () => {
    await bringBack(world);
    tell("all goes well from here on");
    // Agents at work go on: whoever has lost a run must stop by itself.
    for (let ms = 0; ms < CANCELLED_WITHIN && isUnderWay(world); ms += LOOK_EVERY) await pass(LOOK_EVERY);
    for (const task of beingCancelled(world)) world.fault(`${task}, though it was cancelled`);
    for (let ms = 0; ms < QUIET_WITHIN && faults.length === 0 && whyNotQuiet(world) !== undefined; ms += ROUND) {
      for (const work of atWork(world)) {
        answerThere(work);
        finish(world, work);
      }
      await pass(ROUND);
      tell("agents finish");
    }
    await pass(LEASE);
    checkEnd(world);
  };
  try {
    // Servers see first what processes before them have left.
    await clock.advance(READY_WITHIN);
    for (const step of schedule.steps) {
      if (step.do === "time") await pass(step.ms);
      else {
        await act(world, step);
        await clock.advance(1);
        look();
      }
      tell(wordsOf(step));
      if (faults.length > 0) break;
    }
    if (faults.length === 0) await settleDown();
  } catch (error) {
    world.fault(error instanceof Error ? String(error.stack) : String(error));
  } finally {
    for (const { stage } of world.servers) stage.life.die();
    await settled();
    situations?.endSchedule();
  }
  return { faults, story };
};
