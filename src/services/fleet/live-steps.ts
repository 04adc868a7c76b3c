import { z } from "zod";
import { ClaimSchema } from "../../launch-schema.ts";
import { isSameClaim } from "../../machines/task/setup.ts";
import { isInFleet } from "../../machines/task/slot.ts";
import type { Claim } from "../../task.ts";
import { type Clock, repeat } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Bus } from "./bus.ts";
import { RunName, readAs, VERSION } from "./messages.ts";
import { Steps } from "./steps.ts";

/*
 * What a task does on another server, told to its home while it does it. It may be lost on its way: the next one says it all
 * again, and the end of the run does.
 */

/** Milliseconds between two looks whether a task has done something. */
const LOOK_EVERY = 2_000;

/** Milliseconds after which what did not change is told again: its home may have slept, or lost it on its way. */
const TELL_AGAIN_AFTER = 30_000;

/** What a server says of a run while it works on it. */
const LiveSteps = z.object({
  v: z.literal(VERSION),
  ...RunName.shape,
  claim: ClaimSchema,
  steps: Steps,
  /** True where that server has heard nothing of its agent for too long. */
  isStale: z.boolean(),
});

/** The bell by which a home hears of steps; it is rung about `LiveSteps`. */
const stepsBell = (home: string): string => `steps.${home}`;

/** What is told of a run. */
export interface ToldRun {
  name: RunName;
  /** The claim by which it is worked on now. */
  claim(): Claim;
  count(): Steps;
  isStale(): boolean;
}

/** Tells the home of a run what is done for it, when something was and now and then. Returns how to stop that. */
export const tellSteps = (
  { bus, clock, log }: { bus: Bus; clock: Clock; log: Log },
  { name, claim, count, isStale }: ToldRun,
): (() => void) => {
  let told = "";
  let toldAt = 0;
  const work = () => {
    const about = JSON.stringify({ v: VERSION, ...name, claim: claim(), steps: count(), isStale: isStale() });
    if (about === told && clock.now() - toldAt < TELL_AGAIN_AFTER) return;
    bus.ring(stepsBell(name.home), about);
    told = about;
    toldAt = clock.now();
  };
  const stops = [
    repeat(clock, log, { every: LOOK_EVERY, work, fault: "the steps of a run could not be told" }),
    // While the engine was away, nobody heard anything.
    bus.onReached(() => {
      told = "";
    }),
  ];
  return () => {
    for (const stop of stops) stop();
  };
};

/** What is done with the steps that a home is told. */
export interface StepsDeps {
  bus: Bus;
  /** The id of this server. */
  server: string;
  clock: Clock;
  charts(): Pick<Runtime, "send" | "snapshotOf">;
  /** Takes what was counted of a task by that time, epoch milliseconds, in place of all that was counted before. */
  onSteps(taskId: string, steps: Steps, at: number): void;
}

/** Listens to what is done for the tasks of this server. What counts is said by the server that took the run last. */
export const listenToSteps = ({ bus, server, clock, charts, onSteps }: StepsDeps): (() => void) =>
  bus.onBell(stepsBell(server), (about) => {
    const told = readAs(LiveSteps, about);
    const snapshot = told?.home === server ? charts().snapshotOf(told.task) : undefined;
    if (!told || !snapshot || !isInFleet(snapshot)) return;
    const { run, remote } = snapshot.context;
    if (run.index !== told.run || !isSameClaim(remote?.claim, told.claim)) return;
    const at = clock.now();
    onSteps(told.task, told.steps, at);
    const { attention } = snapshot.value;
    if (told.isStale && attention === "none") charts().send(told.task, { type: "BECAME_STALE", at });
    if (!told.isStale && attention === "stale") charts().send(told.task, { type: "ACTIVITY_SEEN", at });
  });
