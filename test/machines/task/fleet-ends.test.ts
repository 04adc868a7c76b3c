import { describe, expect, test } from "vitest";
import { statusOf } from "../../../src/machines/task/machine.ts";
import { toTask } from "../../../src/machines/task/view.ts";
import { noProgress } from "../../../src/task.ts";
import { receipt } from "../../fakes/receipt.ts";
import { START } from "../../fakes/task-input.ts";
import { afterEvents, claimedTask, OFFER, offeredTask, queuedTask } from "./driven-task.ts";

const types = (effects: readonly { type: string }[]): string[] => effects.map(({ type }) => type);

describe("the server that has the run says", () => {
  test("what was answered, and what it has observed: no receipt is written here", () => {
    const task = afterEvents(queuedTask({ fleet: OFFER }, true), "REMOTE_CLAIMED");
    const observed = receipt({ tokens: 12 });
    expect(task.take("REMOTE_ENDED", { receipt: observed })).toEqual([]);
    expect(statusOf(task.snapshot)).toBe("completed");
    expect(task.snapshot.context).toMatchObject({ result: "12", receipt: observed, error: undefined });
  });

  test("that it failed, and why", () => {
    const task = claimedTask();
    const error = { name: "APIError", kind: "provider", message: "401" } as const;
    expect(task.take("REMOTE_ENDED", { outcome: "error", result: undefined, error })).toMatchObject([
      { type: "queueNotice", end: { outcome: "error", error } },
    ]);
  });

  test("that it failed, and not why: the notice has a reason all the same", () => {
    const task = claimedTask();
    task.take("REMOTE_ENDED", { outcome: "error", result: undefined });
    expect(task.snapshot.context.error).toMatchObject({
      ...{ name: "ServerError", kind: "fleet" },
      message: expect.stringContaining("reported that it failed"),
    });
  });

  test("that a person cancelled it there", () => {
    const task = claimedTask();
    task.take("REMOTE_ENDED", { outcome: "cancelled", result: undefined });
    expect(statusOf(task.snapshot)).toBe("cancelled");
    expect(task.snapshot.context.error).toBeUndefined();
  });

  test("that it was answered, in spite of an error before: that is none of the answer", () => {
    const task = claimedTask();
    task.take("REMOTE_ENDED", { error: { name: "APIError", kind: "provider", message: "503" } });
    expect(task.snapshot.context).toMatchObject({ result: "12", error: undefined });
  });

  test.each([
    ["", claimedTask()],
    [", also of a run that was stopped at a limit", claimedTask("LIMIT_EXCEEDED")],
  ])("what its agent changed: that is the task's worktree here%s", (_, task) => {
    const worktree = { id: "wt_1", directory: "/worktrees/wt_1", isShared: false };
    task.take("REMOTE_ENDED", { worktree });
    const server = { id: "srv_1", label: "one" };
    expect(toTask(task.snapshot, noProgress(""))).toMatchObject({ worktree, server });
  });

  test("when it ended by a clock of its own: never before the run began, nor later than it is known", () => {
    const early = claimedTask();
    early.take("REMOTE_ENDED", { completedAt: START - 3_600_000 });
    expect(early.snapshot.context.completedAt).toBe(START);
    const late = claimedTask();
    late.take("REMOTE_ENDED", { at: START + 5, completedAt: START + 3_600_000 });
    expect(late.snapshot.context.completedAt).toBe(START + 5);
  });

  test("nothing that changes a run which has ended", () => {
    const task = claimedTask("REMOTE_ENDED");
    for (const type of ["REMOTE_CLAIMED", "REMOTE_ENDED", "REMOTE_LOST", "CLOSED", "JOB_ENQUEUED"] as const)
      expect(task.refuses(type), type).toBe(true);
  });
});

test("a task whose session is deleted fails, and its server is to stop", () => {
  const task = claimedTask();
  expect(types(task.take("SESSION_DELETED"))).toEqual(["closeRun", "queueNotice"]);
  expect(task.snapshot.context.error).toMatchObject({ kind: "sessionGone" });
});

test("a fault of the plugin ends the run here and in the fleet", () => {
  const task = offeredTask();
  expect(types(task.take("SUPERVISION_FAILED"))).toEqual(["closeRun", "queueNotice"]);
  expect(task.snapshot.value).toMatchObject({ lifecycle: "error", run: "idle" });
});
