import { expect, test } from "vitest";
import type { TaskEvent } from "../../../src/machines/task/events.ts";
import { isStopping, lifecyclePath } from "../../../src/machines/task/machine.ts";
import { TASK_LIMITS } from "../../../src/machines/task/setup.ts";
import { waitingOf } from "../../../src/machines/task/view.ts";
import type { Waiting } from "../../../src/task.ts";
import { START } from "../../fakes/task-input.ts";
import { type DrivenTask, OFFER, offeredTask } from "./driven-task.ts";

const LATER = START + 5_000_000;
const iso = (ms: number) => new Date(ms).toISOString();

/** A state in the fleet: the events that lead to it, the last one of them later, and what is waited for in it, how long. */
interface Stay {
  state: string;
  events: TaskEvent["type"][];
  waitsFor: Waiting["for"];
  /** Milliseconds; absent where no time is set. */
  pause?: number;
}

const CLAIMED = ["JOB_ENQUEUED", "REMOTE_CLAIMED"] as const;

const STAYS: Stay[] = [
  { state: "unclaimed.enqueuing", events: ["JOB_ENQUEUED", "REMOTE_LOST"], waitsFor: "fleet" },
  { state: "unclaimed.pausing", events: ["JOB_REFUSED"], waitsFor: "fleet", pause: TASK_LIMITS.firstBackoff },
  { state: "unclaimed.enqueued", events: ["JOB_ENQUEUED"], waitsFor: "server", pause: OFFER.patience },
  {
    state: "unclaimed.withdrawing",
    events: ["JOB_ENQUEUED", "TICK"],
    waitsFor: "fleet",
    pause: TASK_LIMITS.closeAgainAfter,
  },
  { state: "claimed", events: [...CLAIMED], waitsFor: "agent" },
  {
    state: "stopping.requesting",
    events: [...CLAIMED, "CANCEL"],
    waitsFor: "stop",
    pause: TASK_LIMITS.remoteStopTimeout,
  },
  { state: "stopping.closing", events: ["CANCEL"], waitsFor: "stop", pause: TASK_LIMITS.closeAgainAfter },
];

/** A task that came into the state at `LATER`. */
const taskIn = ({ events }: Stay): DrivenTask => {
  const task = offeredTask(...events.slice(0, -1));
  for (const type of events.slice(-1)) task.take(type, { at: LATER });
  return task;
};

const each = (stays: Stay[]) => test.each(stays.map((stay) => [stay.state, stay] as const));

each(STAYS)("while it is %s, a run says whom it waits for, and since when", (state, stay) => {
  const { snapshot } = taskIn(stay);
  expect(lifecyclePath(snapshot)).toBe(`running.fleet.${state}`);
  expect(waitingOf(snapshot)).toEqual({
    for: stay.waitsFor,
    since: iso(LATER),
    ...(stay.pause === undefined ? {} : { until: iso(LATER + stay.pause) }),
  });
});

const PAUSES = STAYS.filter(({ pause }) => pause !== undefined);

each(PAUSES)("while it is %s, a run goes on when its time has come, and not before", (_, stay) => {
  const task = taskIn(stay);
  const due = LATER + (stay.pause ?? 0);
  expect(task.refuses("TICK", { at: due - 1 })).toBe(true);
  expect(task.refuses("TICK", { at: due })).toBe(false);
});

each(STAYS)("a run that is %s counts as stopping only where somebody stops it", (state, stay) => {
  expect(isStopping(taskIn(stay).snapshot)).toBe(state === "stopping.requesting" || state === "stopping.closing");
});
