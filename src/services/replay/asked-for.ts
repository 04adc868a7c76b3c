import type { TaskEffect, TaskEvent } from "../../machines/task/events.ts";
import type { ReplayStep, Walk } from "../../machines/task/replay.ts";

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
  stopGate: [],
  stopSession: ["STOPPED", "NOT_STOPPED"],
  writeReceipt: ["RECEIPT_WRITTEN", "RECEIPT_INCOMPLETE"],
  completeReceipt: ["RECEIPT_WRITTEN"],
  sendOrder: ["ORDERED", "ORDER_REFUSED", "REMOTE_CLAIMED"],
  readRun: ["REMOTE_CLAIMED", "REMOTE_ENDED", "REMOTE_LOST"],
  recallRun: ["REMOTE_ENDED", "REMOTE_LOST"],
  closeRun: ["CLOSED", "REMOTE_ENDED", "REMOTE_CLAIMED"],
  reportEnd: [],
  queueNotice: ["NOTICE_COMPOSED", "NOTICE_DROPPED"],
  withdrawNotice: [],
};

/** What is done of a run that has ended. */
const OF_ENDED_RUN = new Set<TaskEffect["type"]>(["writeReceipt", "completeReceipt", "queueNotice"]);

/** True for an effect that makes an earlier one of no use. */
const replaces = (later: TaskEffect, { type }: TaskEffect): boolean =>
  later.type === type ||
  (later.type === "stopGate" && type === "runGate") ||
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
