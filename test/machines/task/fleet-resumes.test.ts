import { describe, expect, test } from "vitest";
import { lifecyclePath } from "../../../src/machines/task/machine.ts";
import { toTask } from "../../../src/machines/task/view.ts";
import { noProgress } from "../../../src/task.ts";
import { START } from "../../fakes/task-input.ts";
import { afterEvents, claimedTask, type DrivenTask, OFFER } from "./driven-task.ts";

const WORKTREE = { id: "w1", directory: "/data/worktrees/w1/tree", isShared: false };
const NEXT = { claim: { epoch: START, seq: 9 } };

const types = (effects: readonly { type: string }[]): string[] => effects.map(({ type }) => type);
const state = ({ snapshot }: DrivenTask): string => lifecyclePath(snapshot);

/** A task that ended on another server, whose parent knows it, and that was resumed, unless other events are given. */
const resumedTask = (...types: Parameters<typeof afterEvents>[1][]): DrivenTask => {
  const task = claimedTask();
  task.take("REMOTE_ENDED", { worktree: WORKTREE });
  return afterEvents(task, "NOTICE_COMPOSED", "NOTICE_ACKNOWLEDGED", "RESUME", ...types);
};

describe("a task that ended on another server, and is resumed", () => {
  test("is enqueued again, from the server that has its conversation", () => {
    const task = resumedTask();
    expect(state(task)).toBe("resumed.fleet.unclaimed.enqueuing");
    expect(toTask(task.snapshot, noProgress(""))).toMatchObject({
      ...{ resumeCount: 1, result: "12", worktree: WORKTREE },
      server: { id: "srv_1", label: "one" },
    });
    task.take("JOB_ENQUEUED");
    task.take("REMOTE_CLAIMED", NEXT);
    task.take("REMOTE_ENDED", { ...NEXT, result: "13" });
    expect(toTask(task.snapshot, noProgress(""))).toMatchObject({ status: "completed", result: "13" });
  });

  test("keeps what it had changed, unless the end brings more", () => {
    const task = resumedTask("JOB_ENQUEUED");
    task.take("REMOTE_CLAIMED", NEXT);
    task.take("REMOTE_ENDED", { ...NEXT, outcome: "error" });
    expect(task.snapshot.context.remote?.worktree).toEqual(WORKTREE);
    const other = resumedTask("JOB_ENQUEUED");
    other.take("REMOTE_CLAIMED", NEXT);
    other.take("REMOTE_ENDED", { ...NEXT, worktree: { ...WORKTREE, id: "w2" } });
    expect(other.snapshot.context.remote?.worktree?.id).toBe("w2");
  });

  test("counts the claims of that run alone, and hears nothing of the run before", () => {
    const task = resumedTask("JOB_ENQUEUED");
    expect(task.refuses("REMOTE_CLAIMED")).toBe(true);
    expect(task.refuses("REMOTE_ENDED")).toBe(true);
    expect(task.refuses("REMOTE_HELD")).toBe(true);
    task.take("REMOTE_CLAIMED", NEXT);
    expect(task.snapshot.context.remote?.attempts).toHaveLength(1);
    expect(task.refuses("REMOTE_ENDED")).toBe(true);
  });

  test("fails when that server does not take it up in time: nobody else has the conversation", () => {
    const task = resumedTask("JOB_ENQUEUED");
    expect(types(task.take("TICK", { at: START + OFFER.patience }))).toEqual(["closeRun"]);
    expect(types(task.take("CLOSED"))).toEqual(["queueNotice"]);
    expect(task.snapshot.value).toMatchObject({ lifecycle: "error", run: "idle" });
    expect(task.snapshot.context.error).toEqual({
      ...{ name: "ServerAway", kind: "fleet" },
      message: "The server that has the conversation of the task did not go on with it in time.",
    });
    expect(toTask(task.snapshot, noProgress(""))).toMatchObject({ server: { label: "one" }, worktree: WORKTREE });
  });

  test("fails with the broker's reason when that does not take the job, which is closed in case it has", () => {
    const task = resumedTask();
    expect(types(task.take("JOB_REFUSED", { retryable: false }))).toEqual(["closeRun", "queueNotice"]);
    expect(task.snapshot.context.error).toMatchObject({ name: "JobRefused" });
  });

  test("is cancelled as any other", () => {
    expect(types(resumedTask("JOB_ENQUEUED").take("CANCEL"))).toEqual(["closeRun"]);
    const task = resumedTask("JOB_ENQUEUED");
    task.take("REMOTE_CLAIMED", NEXT);
    expect(types(task.take("CANCEL"))).toEqual(["requestRemoteStop"]);
  });

  test("may be enqueued once more when its server seems to be gone, and goes on when that is back", () => {
    const task = resumedTask("JOB_ENQUEUED");
    task.take("REMOTE_CLAIMED", NEXT);
    expect(types(task.take("REMOTE_LOST"))).toEqual(["enqueueJob"]);
    task.take("REMOTE_HELD", NEXT);
    expect(state(task)).toBe("resumed.fleet.claimed");
  });
});

describe("a server that stood still, and goes on with a run that nobody else has begun", () => {
  test.each([
    ["while it is enqueued again", []],
    ["after the broker has refused the job", ["JOB_REFUSED"]],
    ["while another server is waited for", ["JOB_ENQUEUED"]],
    ["while the job is taken back", ["JOB_ENQUEUED", "TICK"]],
  ] as const)("has it in hand again: %s", (_, meanwhile) => {
    const task = claimedTask("REMOTE_LOST");
    for (const type of meanwhile) task.take(type, type === "TICK" ? { at: START + OFFER.patience } : {});
    expect(types(task.take("REMOTE_HELD"))).toEqual([]);
    expect(state(task)).toBe("running.fleet.claimed");
    expect(task.snapshot.context.remote?.attempts).toHaveLength(1);
  });

  test("counts only if no other server has begun it since", () => {
    const task = claimedTask("REMOTE_LOST");
    expect(task.refuses("REMOTE_HELD", { claim: { epoch: START, seq: 99 } })).toBe(true);
    task.take("REMOTE_CLAIMED", NEXT);
    expect(task.refuses("REMOTE_HELD")).toBe(true);
  });

  test("may be asked to stop at a limit again", () => {
    const task = claimedTask("REMOTE_LOST");
    expect(task.refuses("LIMIT_EXCEEDED")).toBe(true);
    task.take("REMOTE_HELD");
    expect(types(task.take("LIMIT_EXCEEDED"))).toEqual(["requestRemoteStop"]);
  });
});
