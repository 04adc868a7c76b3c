import { describe, expect, test } from "vitest";
import { initialTransition } from "xstate";
import { lifecyclePath, taskMachine } from "../../../src/machines/task/machine.ts";
import { TASK_LIMITS } from "../../../src/machines/task/setup.ts";
import { slotOf } from "../../../src/machines/task/slot.ts";
import { toTask, waitingOf } from "../../../src/machines/task/view.ts";
import { noProgress } from "../../../src/task.ts";
import { START, taskInput } from "../../fakes/task-input.ts";
import { effectsOf } from "../../model/task-history.ts";
import { afterEvents, claimedTask, type DrivenTask, OFFER, offeredTask } from "./driven-task.ts";

const types = (effects: readonly { type: string }[]): string[] => effects.map(({ type }) => type);
const state = ({ snapshot }: DrivenTask): string => lifecyclePath(snapshot);

/** Has the broker refuse the job as often as it is sent. */
const refuseJobs = (task: DrivenTask, times: number) => {
  for (let time = 1; time <= times; time += 1) {
    task.take("JOB_REFUSED");
    if (time < times) task.take("TICK");
  }
};

describe("the job of a run", () => {
  test("is sent at the launch, in place of a request for a slot", () => {
    const [, actions] = initialTransition(taskMachine, taskInput("ses_child", { fleet: OFFER }));
    expect(effectsOf(actions)).toEqual([{ type: "enqueueJob", taskId: "ses_child", run: 0 }]);
  });

  test("waits for a server as long as the offer says, and no slot is held meanwhile", () => {
    const task = offeredTask("JOB_ENQUEUED");
    expect(state(task)).toBe("running.fleet.unclaimed.enqueued");
    expect(slotOf(task.snapshot)).toBe("none");
    const until = new Date(START + 900_000).toISOString();
    expect(waitingOf(task.snapshot)).toMatchObject({ for: "server", until });
  });

  test("is sent again after a pause, which doubles, where the broker does not answer", () => {
    const task = afterEvents(offeredTask(), "JOB_REFUSED");
    expect(waitingOf(task.snapshot)).toMatchObject({ for: "fleet", until: new Date(START + 1_000).toISOString() });
    expect(types(task.take("TICK"))).toEqual(["enqueueJob"]);
    task.take("JOB_REFUSED");
    expect(task.snapshot.context.nextDeadline).toBe(START + 1_000 + 2_000);
  });

  test("is sent again by the process that takes over, which begins to count anew", () => {
    const task = offeredTask();
    refuseJobs(task, TASK_LIMITS.sendAttempts - 1);
    task.take("TICK");
    expect(types(task.take("ADOPTED"))).toEqual(["enqueueJob"]);
    task.take("JOB_REFUSED");
    expect(state(task)).toBe("running.fleet.unclaimed.pausing");
  });

  test("is sent again when the broker has lost it", () => {
    const task = offeredTask("JOB_ENQUEUED");
    expect(types(task.take("REMOTE_LOST"))).toEqual(["enqueueJob"]);
    expect(state(task)).toBe("running.fleet.unclaimed.enqueuing");
  });

  test.each(["JOB_ENQUEUED", "REMOTE_CLAIMED"] as const)(
    "that is lost after %s is sent as often as the first one",
    (type) => {
      const task = offeredTask();
      refuseJobs(task, TASK_LIMITS.sendAttempts - 1);
      for (const next of ["TICK", type, "REMOTE_LOST", "JOB_REFUSED"] as const) task.take(next);
      expect(state(task)).toBe("running.fleet.unclaimed.pausing");
    },
  );

  test("is not sent again once a server has the run, though its answer was lost", () => {
    for (const task of [offeredTask("REMOTE_CLAIMED"), offeredTask("JOB_REFUSED", "REMOTE_CLAIMED")]) {
      expect(state(task)).toBe("running.fleet.claimed");
      expect(task.snapshot.context.nextDeadline).toBeUndefined();
    }
  });
});

describe("a run is worked on here", () => {
  test("at once where the broker refuses the job for good", () => {
    const task = offeredTask();
    expect(types(task.take("JOB_REFUSED", { retryable: false }))).toEqual(["requestSlot"]);
    expect(state(task)).toBe("running.queued");
  });

  test("when the broker has not answered as often as a prompt is sent", () => {
    const task = offeredTask();
    refuseJobs(task, TASK_LIMITS.sendAttempts);
    expect(state(task)).toBe("running.queued");
  });

  test("with all the attempts of a prompt, though the job took as many", () => {
    const task = offeredTask();
    refuseJobs(task, TASK_LIMITS.sendAttempts);
    afterEvents(task, "SLOT_GRANTED", "PROMPT_REFUSED");
    expect(state(task)).toBe("running.active.prompting.backingOff");
  });

  test("when no server has begun in time, but only once the broker has taken the job back", () => {
    const task = offeredTask("JOB_ENQUEUED");
    expect(types(task.take("TICK"))).toEqual(["closeRun"]);
    expect(state(task)).toBe("running.fleet.unclaimed.withdrawing");
    expect(types(task.take("TICK"))).toEqual(["closeRun"]);
    expect(types(task.take("CLOSED"))).toEqual(["requestSlot"]);
  });

  test("and its time counts from then on", () => {
    const task = offeredTask("JOB_ENQUEUED", "TICK");
    task.take("CLOSED", { at: START + 900_009 });
    expect(task.snapshot.context.queuedUntil).toBe(START + 900_009);
  });

  test("not when a server begins while the job is taken back", () => {
    const task = offeredTask("JOB_ENQUEUED", "TICK", "REMOTE_CLAIMED");
    expect(state(task)).toBe("running.fleet.claimed");
  });

  test("when it turns out to be closed though a server had begun: that server counts no more", () => {
    const task = claimedTask();
    expect(types(task.take("CLOSED"))).toEqual(["requestSlot"]);
    expect(toTask(task.snapshot, noProgress("")).server).toBeUndefined();
  });

  test("and can be resumed, though a server had begun it", () => {
    const task = claimedTask("CLOSED", "SLOT_GRANTED", "PROMPT_ACCEPTED", "HOST_IDLE", "CHECKED_ANSWERED");
    for (const type of ["NOTICE_COMPOSED", "NOTICE_ACKNOWLEDGED", "RESUME"] as const) task.take(type);
    expect(state(task)).toBe("resumed.queued");
  });
});
