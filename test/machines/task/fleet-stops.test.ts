import { describe, expect, test } from "vitest";
import { lifecyclePath, refusalReason, statusOf } from "../../../src/machines/task/machine.ts";
import { TASK_LIMITS } from "../../../src/machines/task/setup.ts";
import { receipt } from "../../fakes/receipt.ts";
import { START } from "../../fakes/task-input.ts";
import { claimedTask, type DrivenTask, offeredTask } from "./driven-task.ts";

const OTHER = { claim: { epoch: START, seq: 7 }, server: { id: "srv_2", label: "two" } };
const BUDGET = { name: "BudgetExceeded", kind: "budget" };

const types = (effects: readonly { type: string }[]): string[] => effects.map(({ type }) => type);
const state = ({ snapshot }: DrivenTask): string => lifecyclePath(snapshot);

describe("a cancellation", () => {
  test.each([
    ["whose job is on its way", offeredTask()],
    ["whose job is sent again after a pause", offeredTask("JOB_REFUSED")],
    ["that waits for a server", offeredTask("JOB_ENQUEUED")],
    ["whose job is taken back", offeredTask("JOB_ENQUEUED", "TICK")],
  ])("closes a run %s: that ends it", (_, task) => {
    expect(types(task.take("CANCEL"))).toEqual(["closeRun"]);
    expect(state(task)).toBe("running.fleet.stopping.closing");
    task.take("CLOSED");
    expect(statusOf(task.snapshot)).toBe("cancelled");
    expect(task.snapshot.context.error).toBeUndefined();
  });

  test("recalls a run that a server has, and ends with what that server says", () => {
    const task = claimedTask();
    expect(types(task.take("CANCEL"))).toEqual(["requestRemoteStop"]);
    task.take("REMOTE_ENDED", { outcome: "cancelled", result: undefined });
    expect(statusOf(task.snapshot)).toBe("cancelled");
  });

  test("comes too late for a run that was answered before the server heard of it", () => {
    const task = claimedTask("CANCEL", "REMOTE_ENDED");
    expect(statusOf(task.snapshot)).toBe("completed");
  });

  test("recalls the run from every server that begins it meanwhile", () => {
    const task = claimedTask("CANCEL");
    expect(types(task.take("REMOTE_CLAIMED", OTHER))).toEqual(["requestRemoteStop"]);
    const closing = offeredTask("CANCEL");
    expect(types(closing.take("REMOTE_CLAIMED"))).toEqual(["requestRemoteStop"]);
  });

  test.each(["TICK", "REMOTE_LOST"] as const)("closes the run of a server that does not answer (%s)", (type) => {
    const task = claimedTask("CANCEL");
    expect(types(task.take(type))).toEqual(["closeRun"]);
    task.take("CLOSED");
    expect(statusOf(task.snapshot)).toBe("cancelled");
  });

  test("waits for that server as long as it takes to look twice", () => {
    const task = claimedTask("CANCEL");
    expect(task.snapshot.context.nextDeadline).toBe(START + TASK_LIMITS.remoteStopTimeout);
  });

  test("ends at once when the run turns out to be closed already", () => {
    const task = claimedTask("CANCEL", "CLOSED");
    expect(statusOf(task.snapshot)).toBe("cancelled");
  });

  test("that the broker does not take ends after as many attempts as any stop, and says so", () => {
    const task = offeredTask("JOB_ENQUEUED", "CANCEL");
    for (let attempt = 1; attempt < TASK_LIMITS.stopAttempts; attempt += 1)
      expect(types(task.take("TICK"))).toEqual(["closeRun"]);
    task.take("TICK");
    expect(statusOf(task.snapshot)).toBe("cancelled");
    expect(task.snapshot.value.run).toBe("idle");
    expect(task.snapshot.context).toMatchObject({
      completedAt: START + TASK_LIMITS.stopAttempts * TASK_LIMITS.closeAgainAfter,
      error: { name: "NotWithdrawn", kind: "fleet", message: expect.stringContaining("could not be reached") },
    });
  });

  test("is not asked for twice", () => {
    for (const task of [claimedTask("CANCEL"), offeredTask("CANCEL")])
      expect(refusalReason(task.snapshot, { type: "CANCEL", at: START })).toBe("is already being cancelled");
  });

  test("goes on in the process that takes over, which reads the log", () => {
    const task = claimedTask("CANCEL");
    expect(types(task.take("ADOPTED"))).toEqual(["readRun"]);
    expect(state(task)).toBe("running.fleet.stopping.requesting");
  });

  test("stays one when the session is deleted meanwhile", () => {
    for (const task of [claimedTask("CANCEL"), offeredTask("CANCEL")]) {
      expect(types(task.take("SESSION_DELETED"))).toEqual(["closeRun", "queueNotice"]);
      expect(statusOf(task.snapshot)).toBe("cancelled");
    }
  });
});

describe("a run beyond a limit", () => {
  test("is recalled, and fails with the limit, whatever its server says", () => {
    const task = claimedTask();
    expect(types(task.take("LIMIT_EXCEEDED"))).toEqual(["requestRemoteStop"]);
    const observed = receipt({ tokens: 12 });
    task.take("REMOTE_ENDED", { outcome: "cancelled", result: "so far", receipt: observed });
    expect(statusOf(task.snapshot)).toBe("error");
    expect(task.snapshot.context).toMatchObject({ error: BUDGET, result: "so far", receipt: observed });
  });

  test("has the receipt of that run, if its server gives one", () => {
    const receipts = [undefined, receipt({ tokens: 12, run: 7 })].map((observed) => {
      const task = claimedTask("LIMIT_EXCEEDED");
      task.take("REMOTE_ENDED", { outcome: "cancelled", receipt: observed });
      return task.snapshot.context.receipt;
    });
    expect(receipts).toEqual([undefined, receipt({ tokens: 12, run: 0 })]);
  });

  test("fails with the limit when its server never answers, and when its session is deleted", () => {
    const closed = claimedTask("LIMIT_EXCEEDED", "TICK", "CLOSED");
    const deleted = claimedTask("LIMIT_EXCEEDED", "SESSION_DELETED");
    const unreachable = claimedTask("LIMIT_EXCEEDED");
    for (let attempt = 0; attempt < TASK_LIMITS.stopAttempts; attempt += 1) unreachable.take("TICK");
    for (const { snapshot } of [closed, deleted, unreachable]) {
      expect(statusOf(snapshot)).toBe("error");
      expect(snapshot.context.error).toMatchObject(BUDGET);
    }
  });

  test("is one that a server works on: before that, nothing is used", () => {
    const tasks = [offeredTask(), offeredTask("JOB_ENQUEUED"), offeredTask("JOB_ENQUEUED", "TICK")];
    for (const task of tasks) expect(task.refuses("LIMIT_EXCEEDED"), state(task)).toBe(true);
  });
});
