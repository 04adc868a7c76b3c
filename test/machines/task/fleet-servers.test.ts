import { describe, expect, test } from "vitest";
import { lifecyclePath, refusalReason, statusOf } from "../../../src/machines/task/machine.ts";
import { toTask, waitingOf } from "../../../src/machines/task/view.ts";
import { noProgress } from "../../../src/task.ts";
import { START } from "../../fakes/task-input.ts";
import { claimedTask, type DrivenTask, offeredTask } from "./driven-task.ts";

const FIRST = { epoch: START, seq: 1 };
const SECOND = { epoch: START, seq: 7 };
const OTHER = { claim: SECOND, server: { id: "srv_2", label: "two" } };
const SECOND_REQUEST = { id: "per_2", kind: "permission", what: "bash", since: START } as const;

const types = (effects: readonly { type: string }[]): string[] => effects.map(({ type }) => type);
const state = ({ snapshot }: DrivenTask): string => lifecyclePath(snapshot);

describe("a server that has the run", () => {
  test("is named, and what is waited for is its agent, since it began", () => {
    const task = offeredTask("JOB_ENQUEUED");
    task.take("REMOTE_CLAIMED", { at: START + 60_000 });
    expect(toTask(task.snapshot, noProgress("")).server).toEqual({ id: "srv_1", label: "one" });
    expect(waitingOf(task.snapshot)).toEqual({ for: "agent", since: new Date(START + 60_000).toISOString() });
  });

  test("that is seen twice counts once", () => {
    const task = claimedTask();
    expect(task.refuses("REMOTE_CLAIMED")).toBe(true);
    expect(task.refuses("REMOTE_CLAIMED", { claim: { epoch: START - 1, seq: 99 } })).toBe(true);
  });

  test("is followed by the one whose claim is newer, and by any of a broker that was set up anew", () => {
    const task = claimedTask();
    task.take("REMOTE_CLAIMED", OTHER);
    expect(task.snapshot.context.remote).toMatchObject({ ...OTHER, attempts: [{ claim: FIRST }, OTHER] });
    task.take("REMOTE_CLAIMED", { claim: { epoch: START + 1, seq: 1 } });
    expect(task.snapshot.context.remote?.attempts).toHaveLength(3);
  });

  test("is followed by any that stands in a log which has lost its claim, though at an earlier place or the same", () => {
    const task = claimedTask();
    task.take("REMOTE_CLAIMED", OTHER);
    const earlier = { claim: { epoch: START, seq: 2 }, server: { id: "srv_3", label: "three" } };
    expect(task.refuses("REMOTE_CLAIMED", earlier)).toBe(true);
    task.take("REMOTE_CLAIMED", { ...earlier, isNewestForgotten: true });
    expect(task.snapshot.context.remote).toMatchObject({ ...earlier, attempts: [{ claim: FIRST }, OTHER, earlier] });
    expect(task.refuses("REMOTE_CLAIMED", earlier)).toBe(true);
    const again = { ...earlier, server: OTHER.server };
    task.take("REMOTE_CLAIMED", { ...again, isNewestForgotten: true });
    expect(task.snapshot.context.remote).toMatchObject({
      ...again,
      attempts: [{ claim: FIRST }, OTHER, earlier, again],
    });
    task.take("REMOTE_CLAIMED", { claim: { epoch: START, seq: 1 }, isNewestForgotten: true, replaces: earlier.claim });
    expect(task.snapshot.context.remote?.attempts).toHaveLength(4);
  });

  test("goes on with the run though the broker has lost its claim: that is no further attempt", () => {
    const again = { claim: { epoch: START + 1, seq: 1 }, replaces: FIRST } as const;
    const task = claimedTask();
    task.take("REMOTE_CLAIMED", again);
    expect(task.snapshot.context.remote).toMatchObject({ claim: again.claim, attempts: [{ claim: FIRST }] });
    expect(task.refuses("REMOTE_ENDED", { claim: FIRST })).toBe(true);
    const lost = claimedTask("REMOTE_LOST");
    lost.take("REMOTE_CLAIMED", again);
    expect(state(lost)).toBe("running.fleet.claimed");
    expect(lost.snapshot.context.remote?.attempts).toHaveLength(1);
  });

  test("is no further attempt either where its claim is seen once more, because the broker has forgotten those after it", () => {
    const task = claimedTask();
    task.take("REMOTE_CLAIMED", OTHER);
    task.take("REMOTE_CLAIMED", { isNewestForgotten: true });
    expect(task.snapshot.context.remote).toMatchObject({ claim: FIRST, server: { id: "srv_1" } });
    task.take("REMOTE_CLAIMED", { ...OTHER, claim: { epoch: START + 1, seq: 1 }, replaces: SECOND });
    task.take("REMOTE_CLAIMED", { claim: { epoch: START + 2, seq: 1 }, replaces: FIRST });
    expect(task.snapshot.context.remote?.attempts).toHaveLength(2);
  });

  test("begins the run once more where the claim that it replaces is not known here", () => {
    const task = claimedTask();
    task.take("REMOTE_CLAIMED", { claim: { epoch: START + 1, seq: 1 }, replaces: SECOND });
    expect(task.snapshot.context.remote?.attempts).toHaveLength(2);
    const unknown = offeredTask("JOB_ENQUEUED");
    unknown.take("REMOTE_CLAIMED", { claim: { epoch: START + 1, seq: 1 }, replaces: FIRST });
    expect(unknown.snapshot.context.remote?.attempts).toHaveLength(1);
  });

  test("may be silent for so long that the task counts as stale; one that is only enqueued does not", () => {
    const enqueued = offeredTask("JOB_ENQUEUED");
    expect(enqueued.refuses("BECAME_STALE")).toBe(true);
    const task = claimedTask("BECAME_STALE");
    task.take("REMOTE_CLAIMED", OTHER);
    expect(task.snapshot.value.attention).toBe("none");
  });

  test("is lost, and the run is enqueued again as long as it may be begun", () => {
    const task = claimedTask();
    expect(types(task.take("REMOTE_LOST"))).toEqual(["enqueueJob"]);
    task.take("JOB_ENQUEUED");
    task.take("REMOTE_CLAIMED", OTHER);
    expect(types(task.take("REMOTE_LOST"))).toEqual(["closeRun", "queueNotice"]);
    expect(task.snapshot.value).toMatchObject({ lifecycle: "error", run: "idle" });
    expect(task.snapshot.context.error).toMatchObject({
      ...{ name: "ServerLost", kind: "fleet" },
      message: expect.stringContaining("are gone"),
    });
  });

  test("takes with it what its agent had asked a person", () => {
    const lost = claimedTask("REQUEST_ASKED", "REMOTE_LOST");
    expect(lost.snapshot).toMatchObject({ value: { attention: "none" }, context: { userRequests: [] } });
    const closed = claimedTask("REQUEST_ASKED", "CLOSED");
    expect(closed.snapshot).toMatchObject({ value: { attention: "none" }, context: { userRequests: [] } });
    const followed = claimedTask("REQUEST_ASKED");
    followed.take("REMOTE_CLAIMED", OTHER);
    expect(followed.snapshot).toMatchObject({ value: { attention: "none" }, context: { userRequests: [] } });
  });

  test("alone has an agent that asks: what was asked before is not asked again by its log", () => {
    expect(claimedTask().refuses("REQUEST_ASKED")).toBe(false);
    expect(claimedTask("REMOTE_LOST").refuses("REQUEST_ASKED")).toBe(true);
    expect(claimedTask("REQUEST_ASKED", "CANCEL").refuses("REQUEST_ASKED", { request: SECOND_REQUEST })).toBe(true);
  });

  test("is asked for nothing by the process that takes over, which reads what it has written", () => {
    const task = claimedTask();
    expect(types(task.take("ADOPTED"))).toEqual(["readRun"]);
    expect(state(task)).toBe("running.fleet.claimed");
  });

  test("takes no further instructions, and says so to the agent", () => {
    const { snapshot } = claimedTask();
    const message = { messageID: "msg_3", partID: "prt_3", prompt: "Faster." };
    const steer = { type: "STEER", at: START, ...message, text: "Faster.", from: "agent" } as const;
    expect(refusalReason(snapshot, steer)).toContain("works on another server");
  });
});

test("an older claim has no say in how the run ends", () => {
  const task = claimedTask();
  task.take("REMOTE_CLAIMED", OTHER);
  expect(task.refuses("REMOTE_ENDED", { claim: FIRST })).toBe(true);
  task.take("REMOTE_ENDED", { claim: SECOND });
  expect(statusOf(task.snapshot)).toBe("completed");
});
