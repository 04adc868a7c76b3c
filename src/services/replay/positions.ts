import type { TaskEffect, TaskEvent } from "../../machines/task/events.ts";
import type { TaskSnapshot } from "../../machines/task/machine.ts";
import { type Regions, type ReplayStep, regionsOf, type Walk } from "../../machines/task/replay.ts";
import { type PossibleEvent, possibleEvents } from "./possible-events.ts";

/** Something that the chart wants done, and of which it has heard nothing yet. */
export interface AskedFor {
  effect: TaskEffect;
  /** The number of the event that asked for it, from 1; 0: the task began with it. */
  since: number;
}

/** Which events say what became of an effect. An effect without any is done at once, or nobody hears of it. */
const ANSWERS: Record<TaskEffect["type"], readonly TaskEvent["type"][]> = {
  requestSlot: ["SLOT_GRANTED"],
  sendPrompt: ["PROMPT_ACCEPTED", "PROMPT_REFUSED", "SESSION_NOT_FOUND"],
  sendSteering: ["STEERING_STORED", "STEERING_REFUSED"],
  checkRun: [
    "CHECKED_BUSY",
    "CHECKED_AWAITING_TASKS",
    "CHECKED_ANSWERED",
    "CHECKED_FAILED",
    "CHECKED_HOST_FAULT",
    "CHECKED_ABORTED",
    "CHECKED_UNANSWERED",
    "CHECKED_UNSEEN",
    "CHECKED_NOT_FOUND",
    "CHECK_FAILED",
  ],
  changeModel: ["MODEL_CHANGED", "NOT_STOPPED"],
  endTurn: ["HOST_IDLE"],
  runGate: ["GATE_ENDED"],
  runGateBefore: ["GATE_ENDED_BEFORE"],
  stopGate: [],
  stopSession: ["STOPPED", "NOT_STOPPED"],
  writeReceipt: ["RECEIPT_WRITTEN", "RECEIPT_INCOMPLETE"],
  completeReceipt: ["RECEIPT_WRITTEN"],
  enqueueJob: ["JOB_ENQUEUED", "JOB_REFUSED", "REMOTE_CLAIMED"],
  readRun: ["REMOTE_CLAIMED", "REMOTE_ENDED", "REMOTE_LOST"],
  requestRemoteStop: ["REMOTE_ENDED", "REMOTE_LOST"],
  closeRun: ["CLOSED", "REMOTE_ENDED", "REMOTE_CLAIMED"],
  reportEnd: [],
  beginNextRun: ["RESUME", "RETRY"],
  queueNotice: ["NOTICE_COMPOSED", "NOTICE_DROPPED"],
  withdrawNotice: [],
};

/** What is done of a run that has ended. */
const OF_ENDED_RUN = new Set<TaskEffect["type"]>(["writeReceipt", "completeReceipt", "queueNotice"]);

/** True for an effect that makes an earlier one of no use. */
const replaces = (later: TaskEffect, { type }: TaskEffect): boolean =>
  later.type === type ||
  (later.type === "stopGate" && (type === "runGate" || type === "runGateBefore")) ||
  (later.type === "withdrawNotice" && type === "queueNotice");

/** What is still of use after a step of what had been asked for before it. */
const leftAfter = (step: ReplayStep, before: readonly AskedFor[]): readonly AskedFor[] => {
  // What the process had begun that has ended, nobody hears of any more.
  if (step.event.type === "ADOPTED") return [];
  const hasEnded = step.from.run !== "idle" && step.to.run === "idle";
  return before.filter(
    ({ effect }) =>
      !ANSWERS[effect.type].includes(step.event.type) &&
      !step.effects.some((later) => replaces(later, effect)) &&
      (!hasEnded || OF_ENDED_RUN.has(effect.type)),
  );
};

/** What is waited for of a step's effects. A session that is stopped after its run has ended is not heard of. */
const awaitedOf = ({ effects, to }: ReplayStep): readonly TaskEffect[] =>
  effects.filter(({ type }) => ANSWERS[type].length > 0 && (to.run !== "idle" || OF_ENDED_RUN.has(type)));

/** Returns what had been asked for, and had no answer yet, after so many events of a journal. */
export const askedForAfter = ({ steps, begin }: Walk, taken: number): readonly AskedFor[] =>
  steps.slice(0, taken).reduce<readonly AskedFor[]>(
    (before, step, index) => [
      ...leftAfter(step, before),
      ...awaitedOf(step).map((effect) => ({ effect, since: index + 1 })),
    ],
    begin.map((effect) => ({ effect, since: 0 })),
  );

/** A place between two events of a journal. */
export interface Position {
  /** How many events have been taken: the next one has the number after that. */
  taken: number;
  snapshot: TaskSnapshot;
  regions: Regions;
  /** When the next event came, or the last one where there is none; epoch milliseconds. */
  at: number;
  askedFor: readonly AskedFor[];
  possible: PossibleEvent[];
  /** The event that came next; undefined at the end of the journal. */
  next: ReplayStep | undefined;
}

/** Returns the state of the task after so many events of a journal. */
export const positionAfter = (walked: Walk, taken: number): Position => {
  const { steps, snapshots } = walked;
  const snapshot = snapshots[taken] ?? snapshots[0];
  const next = steps[taken];
  const at = next?.event.at ?? steps.at(-1)?.event.at ?? snapshot.context.run.startedAt;
  return {
    taken,
    snapshot,
    regions: regionsOf(snapshot),
    at,
    askedFor: askedForAfter(walked, taken),
    possible: possibleEvents(snapshot, at),
    next,
  };
};

/** The numbers of the events of that name, from 1. */
const numbersOf = (steps: readonly ReplayStep[], type: string): number[] =>
  steps.flatMap(({ event }, index) => (event.type === type ? index + 1 : []));

/**
 * Finds the event that somebody names: by its number, by its name, or `end` for what is behind the last one. Of several with
 * that name, the first one after `taken` events.
 * @returns how many events come before it, and the numbers of all with that name; or what was wrong, in a sentence
 */
export const findEvent = (
  { steps }: Pick<Walk, "steps">,
  named: string,
  taken = 0,
): { before: number; numbers: number[] } | { wrong: string } => {
  if (named.toLowerCase() === "end") return { before: steps.length, numbers: [] };
  if (/^\d+$/.test(named)) {
    const number = Number(named);
    if (number >= 1 && number <= steps.length) return { before: number - 1, numbers: [number] };
    return { wrong: `There is no event ${named}: the journal has events 1 to ${steps.length}.` };
  }
  const type = named.toUpperCase().replaceAll("-", "_");
  const numbers = numbersOf(steps, type);
  const number = numbers.find((each) => each > taken);
  if (number !== undefined) return { before: number - 1, numbers };
  if (numbers.length > 0)
    return { wrong: `No ${type} comes after event ${taken}: the last one is event ${numbers.at(-1)}.` };
  const known = [...new Set(steps.map(({ event }) => event.type))].toSorted();
  return { wrong: `The journal has no event "${named}". Give its number, "end", or one of ${known.join(", ")}.` };
};
