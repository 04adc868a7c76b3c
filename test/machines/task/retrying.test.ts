import { describe, expect, test } from "vitest";
import { statePath } from "../../../src/machines/chart.ts";
import { retriesAtOf, slotOf } from "../../../src/machines/task/slot.ts";
import { START } from "../../fakes/task-input.ts";
import { afterEvents, type DrivenTask, queuedTask, workingTask } from "./driven-task.ts";

const UNTIL = START + 60_000;
const SLOW_DOWN = { attempt: 1, message: "slow down", until: UNTIL };

/** A task at work whose provider refuses for now. */
const retryingTask = (): DrivenTask => {
  const task = workingTask();
  task.take("HOST_RETRYING", SLOW_DOWN);
  expect(statePath(task.snapshot.value.run)).toBe("active.working.retrying");
  return task;
};

const stateOf = ({ snapshot }: DrivenTask) => statePath(snapshot.value.run);

describe("a run whose provider refuses for now", () => {
  test("says so until the host asks again, and keeps its slot", () => {
    const task = retryingTask();
    expect(slotOf(task.snapshot)).toBe("held");
    expect(task.snapshot.context.retry).toEqual({ ...SLOW_DOWN, since: START });
    task.take("HOST_BUSY", { at: UNTIL });
    expect(stateOf(task)).toBe("active.working.busy");
  });

  test("counts from the first refusal of a request, and anew for another request", () => {
    const task = retryingTask();
    task.take("HOST_BUSY", { at: UNTIL });
    task.take("HOST_RETRYING", { at: UNTIL + 5, attempt: 2, message: "slow down!", until: UNTIL + 100 });
    expect(task.snapshot.context.retry).toEqual({
      attempt: 2,
      message: "slow down!",
      since: START,
      until: UNTIL + 100,
    });
    task.take("HOST_BUSY", { at: UNTIL + 100 });
    task.take("HOST_RETRYING", { at: UNTIL + 200, attempt: 1, until: UNTIL + 300 });
    expect(task.snapshot.context.retry).toMatchObject({ attempt: 1, since: UNTIL + 200 });
  });

  test("counts from the refusal that was heard first, though the host had been refused before", () => {
    const task = workingTask();
    task.take("HOST_RETRYING", { ...SLOW_DOWN, attempt: 3, at: START + 7 });
    expect(task.snapshot.context.retry).toMatchObject({ attempt: 3, since: START + 7 });
  });

  test.each([
    ["idle", "HOST_IDLE", "active.checking.asking.verifying"],
    ["an error, which idle is to follow", "HOST_ERROR", "active.working.busy"],
    ["a takeover", "ADOPTED", "active.checking.asking.recovering"],
    ["a deletion of its session", "SESSION_DELETED", "idle"],
  ] as const)("goes on after %s", (_, event, next) => {
    const task = retryingTask();
    task.take(event);
    expect(stateOf(task)).toBe(next);
  });

  test("is asked about until the provider answers: until then it may be refused again", () => {
    const task = retryingTask();
    task.take("HOST_BUSY", { at: UNTIL });
    expect(retriesAtOf(task.snapshot)).toBe(UNTIL);
    task.take("HOST_ANSWERING", { at: UNTIL + 100 });
    expect([stateOf(task), retriesAtOf(task.snapshot)]).toEqual(["active.working.busy", undefined]);
    expect(task.refuses("HOST_ANSWERING")).toBe(true);
  });

  test("is stopped when it is cancelled, or beyond a limit, and holds up nobody from then on", () => {
    for (const event of ["CANCEL", "LIMIT_EXCEEDED"] as const) {
      const task = retryingTask();
      expect(task.take(event)).toContainEqual(expect.objectContaining({ type: "stopSession" }));
      expect(retriesAtOf(task.snapshot)).toBeUndefined();
    }
  });

  test("takes instructions, and one that the host did not store is sent again", () => {
    const task = retryingTask();
    expect(task.take("STEER")).toMatchObject([{ type: "sendSteering" }]);
    afterEvents(task, "STEERING_REFUSED", "TICK");
    expect(stateOf(task)).toBe("active.checking.asking.verifying");
    expect(task.take("CHECKED_BUSY")).toMatchObject([{ type: "sendSteering" }]);
    expect(stateOf(task)).toBe("active.working.retrying");
  });

  test("is not stale before the host asks again", () => {
    const task = retryingTask();
    expect(task.refuses("BECAME_STALE", { at: UNTIL - 1 })).toBe(true);
    expect(task.refuses("BECAME_STALE", { at: UNTIL })).toBe(false);
  });
});

describe("a refusal is noted, though the child is not known to be at work yet", () => {
  test("while its prompt is sent", () => {
    const task = afterEvents(queuedTask(), "SLOT_GRANTED");
    task.take("HOST_RETRYING", SLOW_DOWN);
    expect(stateOf(task)).toBe("active.prompting.sending");
    task.take("PROMPT_ACCEPTED");
    expect(stateOf(task)).toBe("active.working.retrying");
  });

  test.each([
    ["before", UNTIL - 1, "active.working.retrying"],
    ["after", UNTIL, "active.working.busy"],
  ])("while the host is asked: found busy %s the host asks again", (_, at, next) => {
    const task = afterEvents(workingTask(), "HOST_IDLE");
    task.take("HOST_RETRYING", SLOW_DOWN);
    expect(stateOf(task)).toBe("active.checking.asking.verifying");
    task.take("CHECKED_BUSY", { at });
    expect(stateOf(task)).toBe(next);
  });

  test("but not while it is stopped, nor once it has ended", () => {
    const task = afterEvents(workingTask(), "CANCEL");
    expect(task.refuses("HOST_RETRYING")).toBe(true);
    task.take("STOPPED");
    expect(task.refuses("HOST_RETRYING")).toBe(true);
  });
});

test("a refusal says nothing of the next run, nor of one that another process takes over", () => {
  const task = afterEvents(retryingTask(), "ADOPTED");
  expect(task.snapshot.context.retry).toBeUndefined();
});

test("a run that its provider refuses counts as at work, and is shown as refused", () => {
  const { snapshot } = retryingTask();
  expect(["working", "retrying"].map((tag) => snapshot.hasTag(tag as "working"))).toEqual([true, true]);
  expect(workingTask().snapshot.hasTag("retrying")).toBe(false);
});

test("a provider that refuses again while it is waited for says how long it takes now", () => {
  const task = retryingTask();
  task.take("HOST_RETRYING", { attempt: 2, message: "later", until: UNTIL + 5, at: START + 9 });
  expect(stateOf(task)).toBe("active.working.retrying");
  expect(task.snapshot.context.retry).toEqual({ attempt: 2, message: "later", until: UNTIL + 5, since: START });
});

test("a refusal that lasts too long by now has the next model asked at once", () => {
  const task = afterEvents(
    queuedTask({ fallback: { models: [{ providerID: "fake", modelID: "m2" }], after: 60_000 } }),
    "SLOT_GRANTED",
    "PROMPT_ACCEPTED",
  );
  task.take("HOST_RETRYING", SLOW_DOWN);
  expect(task.snapshot.context.nextDeadline).toBeUndefined();
  task.take("HOST_RETRYING", { ...SLOW_DOWN, attempt: 2, until: UNTIL + 1, at: START + 9 });
  expect(task.snapshot.context.nextDeadline).toBe(START + 9);
  expect(task.take("TICK")).toMatchObject([{ type: "changeModel" }]);
});

test("a child that waits for its own tasks may be refused by its provider when it goes on", () => {
  const task = afterEvents(workingTask(), "HOST_IDLE", "CHECKED_AWAITING_TASKS");
  task.take("HOST_RETRYING", SLOW_DOWN);
  expect(stateOf(task)).toBe("active.working.retrying");
  expect(task.snapshot.context.retry).toMatchObject(SLOW_DOWN);
});
