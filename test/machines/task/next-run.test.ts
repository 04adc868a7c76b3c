import { describe, expect, test } from "vitest";
import type { TaskEvent } from "../../../src/machines/task/events.ts";
import { allowedEvents, isAtRest, refusalReason } from "../../../src/machines/task/machine.ts";
import { toTask } from "../../../src/machines/task/view.ts";
import { NOTHING_USED } from "../../../src/services/engine/limits/budget-tree.ts";
import { noProgress } from "../../../src/task.ts";
import {
  afterEvents,
  completeAndTell,
  type DrivenTask,
  OFFER,
  offeredTask,
  queuedTask,
  workingTask,
} from "./driven-task.ts";

const TOLD = ["NOTICE_COMPOSED", "NOTICE_ACKNOWLEDGED"] as const;

/** Tasks whose run was not brought to its end, and whose parent knows of it, by what ended it. */
const stopped: Record<string, () => DrivenTask> = {
  "a failure of its model": () => afterEvents(workingTask(), "HOST_IDLE", "CHECKED_FAILED", ...TOLD),
  "a limit": () => afterEvents(workingTask(), "LIMIT_EXCEEDED", "STOPPED", ...TOLD),
  "a cancel": () => afterEvents(workingTask(), "CANCEL", "STOPPED", ...TOLD),
  "a cancel in the queue": () => afterEvents(queuedTask(), "CANCEL", ...TOLD),
  "a fault of the plugin": () => afterEvents(workingTask(), "SUPERVISION_FAILED", ...TOLD),
};

describe.each(Object.entries(stopped))("after %s", (_, end) => {
  test("a retry is a run of its own in the same session, with a slot, a prompt and limits of its own", () => {
    const task = end();
    expect(allowedEvents(task.snapshot)).toEqual(["RETRY", "RESULT_READ"]);
    expect(task.take("RETRY")).toEqual([expect.objectContaining({ type: "requestSlot", taskId: "ses_child" })]);
    const { value, context } = task.snapshot;
    expect(value).toMatchObject({ lifecycle: "resumed", run: "queued", notice: "none" });
    expect(context).toMatchObject({
      run: { index: 1, messageID: "msg_2", prompt: "Go on.", isRetry: true, budgetFrom: { toolCalls: 3 } },
      ...{ error: undefined, limitError: undefined, completedAt: undefined, stopAttempts: 0, receipt: undefined },
    });
    const [send] = task.take("SLOT_GRANTED");
    expect(send).toMatchObject({ type: "sendPrompt", prompt: { sessionID: "ses_child", messageID: "msg_2" } });
  });

  test("its end is owed like any other, as that of a retry", () => {
    const task = afterEvents(end(), "RETRY", "SLOT_GRANTED", "PROMPT_ACCEPTED", "HOST_IDLE");
    expect(task.take("CHECKED_ANSWERED", { result: "12" })).toEqual([
      expect.objectContaining({
        type: "queueNotice",
        end: expect.objectContaining({ run: 1, isRetry: true, outcome: "completed" }),
      }),
    ]);
    expect(toTask(task.snapshot, noProgress(""))).toMatchObject({ status: "completed", resumeCount: 1, isRetry: true });
  });
});

test("a retry may fail and be retried, as often as it is asked for", () => {
  const task = afterEvents(workingTask(), "HOST_IDLE", "CHECKED_FAILED", ...TOLD);
  for (const index of [1, 2, 3]) {
    afterEvents(task, "RETRY");
    expect(task.snapshot.context.run.index).toBe(index);
    afterEvents(task, "SLOT_GRANTED", "PROMPT_ACCEPTED", "HOST_IDLE", "CHECKED_FAILED", ...TOLD);
  }
});

test("a task that is retried and then answered is resumed as any other: that is no retry, and its budget counts from the retry", () => {
  const task = afterEvents(
    stopped["a limit"]?.() ?? workingTask(),
    "RETRY",
    "SLOT_GRANTED",
    "PROMPT_ACCEPTED",
    "HOST_IDLE",
  );
  afterEvents(task, "CHECKED_ANSWERED", ...TOLD);
  task.take("RESUME", { messageID: "msg_4" });
  const { run } = task.snapshot.context;
  expect(run).toMatchObject({ index: 2, messageID: "msg_4", budgetFrom: { toolCalls: 3 } });
  expect(run).not.toHaveProperty("isRetry");
});

const RETRY = { type: "RETRY", ...{ at: 0, messageID: "", partID: "", prompt: "" }, budgetFrom: NOTHING_USED } as const;
const RESUME = { type: "RESUME", ...{ at: 0, messageID: "", partID: "", prompt: "" } } as const;

test("no run begins before the last end is delivered, nor while a call waits for it: until then it can be asked for", () => {
  const task = afterEvents(workingTask(), "HOST_IDLE", "CHECKED_FAILED");
  const expectOnlyAsked = () => {
    expect(task.snapshot.can(RETRY)).toBe(false);
    expect(allowedEvents(task.snapshot)).toContain("RETRY");
  };
  expectOnlyAsked();
  afterEvents(task, "NOTICE_COMPOSED");
  expectOnlyAsked();
  afterEvents(task, "WAIT_BEGAN", "NOTICE_ACKNOWLEDGED");
  expectOnlyAsked();
  afterEvents(task, "WAIT_DELIVERED");
  expect(task.snapshot.can(RETRY)).toBe(true);
});

const FOLLOW_UP = { messageID: "msg_2", partID: "prt_2", prompt: "more" };

describe("a task that is asked to go on while its result is being delivered", () => {
  const asked = () => afterEvents(workingTask(), "HOST_IDLE", "CHECKED_ANSWERED", "NOTICE_COMPOSED", "NEXT_RUN_ASKED");
  const beginning = { type: "beginNextRun", taskId: "ses_child", next: { begins: "RESUME", ...FOLLOW_UP } };

  test("stays completed, and goes on with what it was given once the notice is read", () => {
    const task = asked();
    expect(task.snapshot.value).toMatchObject({ lifecycle: "completed", run: "idle", nextRun: "waiting" });
    expect(toTask(task.snapshot, noProgress(""))).toMatchObject({ status: "completed", nextRun: "resume" });
    expect(task.take("NOTICE_ACKNOWLEDGED")).toEqual([beginning]);
    expect(isAtRest(task.snapshot)).toBe(false);
    task.take("RESUME");
    expect(task.snapshot.value).toMatchObject({ lifecycle: "resumed", run: "queued", nextRun: "none" });
    expect(task.snapshot.context).toMatchObject({ run: { index: 1, ...FOLLOW_UP }, nextRun: undefined });
    expect(toTask(task.snapshot, noProgress(""))).not.toHaveProperty("nextRun");
  });

  test.each<[string, TaskEvent["type"][], TaskEvent["type"]]>([
    ["a call delivers it", ["HOST_IDLE", "CHECKED_ANSWERED", "NEXT_RUN_ASKED", "WAIT_BEGAN"], "WAIT_DELIVERED"],
    ["nobody can have it", ["HOST_IDLE", "CHECKED_ANSWERED", "NEXT_RUN_ASKED"], "NOTICE_DROPPED"],
  ])("goes on as well once %s", (_, events, last) => {
    expect(afterEvents(workingTask(), ...events).take(last)).toEqual([beginning]);
  });

  test("takes no second one: the first is kept", () => {
    const task = asked();
    expect(allowedEvents(task.snapshot)).not.toContain("RESUME");
    expect(refusalReason(task.snapshot, RESUME)).toBe(
      "is to go on already, with what it was given, once its result is delivered",
    );
    expect(task.refuses("NEXT_RUN_ASKED", { prompt: "something else" })).toBe(true);
  });

  test("takes only what fits how it ended", () => {
    const answered = afterEvents(workingTask(), "HOST_IDLE", "CHECKED_ANSWERED");
    const failed = afterEvents(workingTask(), "HOST_IDLE", "CHECKED_FAILED");
    const lost = afterEvents(workingTask(), "SESSION_DELETED");
    expect(answered.refuses("NEXT_RUN_ASKED", { begins: "RETRY" })).toBe(true);
    expect(failed.refuses("NEXT_RUN_ASKED", { begins: "RESUME" })).toBe(true);
    expect(lost.refuses("NEXT_RUN_ASKED", { begins: "RETRY" })).toBe(true);
    expect(workingTask().refuses("NEXT_RUN_ASKED")).toBe(true);
    failed.take("NEXT_RUN_ASKED", { begins: "RETRY" });
    expect(toTask(failed.snapshot, noProgress(""))).toMatchObject({ status: "error", nextRun: "retry" });
  });

  test("may be cancelled meanwhile: the next run ends as it begins, with a notice, and nothing is sent", () => {
    const task = asked();
    expect(allowedEvents(task.snapshot)).toContain("CANCEL");
    task.take("CANCEL");
    expect(toTask(task.snapshot, noProgress(""))).not.toHaveProperty("nextRun");
    expect(refusalReason(task.snapshot, { type: "CANCEL", at: 0 })).toBe("has already finished (completed)");
    expect(task.take("NOTICE_ACKNOWLEDGED")).toEqual([
      { ...beginning, next: { ...beginning.next, isCancelled: true } },
    ]);
    expect(task.take("RESUME", { isCancelled: true })).toEqual([
      expect.objectContaining({ type: "queueNotice", end: expect.objectContaining({ run: 1, outcome: "cancelled" }) }),
    ]);
    expect(task.snapshot.value).toMatchObject({ lifecycle: "cancelled", run: "idle", notice: "due", nextRun: "none" });
    afterEvents(task, ...TOLD);
    expect(task.take("RETRY")).toEqual([expect.objectContaining({ type: "requestSlot" })]);
  });

  test("goes on in the process that takes it over", () => {
    const waiting = asked();
    expect(waiting.take("ADOPTED", { isNoticePending: true })).toEqual([]);
    expect(waiting.snapshot.value.nextRun).toBe("waiting");
    expect(waiting.take("NOTICE_ACKNOWLEDGED")).toEqual([beginning]);
  });
});

test.each([
  ["runs", workingTask()],
  ["has completed", afterEvents(workingTask(), "HOST_IDLE", "CHECKED_ANSWERED", ...TOLD)],
  ["has lost its session", afterEvents(workingTask(), "SESSION_DELETED", ...TOLD)],
])("a task that %s is not retried", (_, task) => {
  expect(allowedEvents(task.snapshot)).not.toContain("RETRY");
});

test("a run that another server was at work on is retried there, and one that nobody had begun is retried here", () => {
  const claimed = afterEvents(offeredTask(), "JOB_ENQUEUED", "REMOTE_CLAIMED");
  claimed.take("REMOTE_ENDED", { outcome: "error", error: { name: "APIError", kind: "provider", message: "400" } });
  afterEvents(claimed, ...TOLD);
  expect(claimed.take("RETRY")).toEqual([{ type: "enqueueJob", taskId: "ses_child", run: 1 }]);
  expect(claimed.snapshot.context.remote).toMatchObject({ server: { id: "srv_1" }, attempts: [] });
  const waiting = queuedTask({ fleet: OFFER });
  afterEvents(waiting, "JOB_ENQUEUED", "CANCEL", "CLOSED", ...TOLD);
  expect(waiting.take("RETRY")).toEqual([expect.objectContaining({ type: "requestSlot" })]);
});

test("a run that goes on for another server works on the job that this server has of it", () => {
  const job = { origin: "srv_1", task: "ses_there", run: 1, claim: { epoch: 1, seq: 1 }, depth: 1 };
  const resumed = completeAndTell(workingTask());
  resumed.take("RESUME", { job });
  const retried = afterEvents(workingTask(), "CANCEL", "STOPPED", ...TOLD);
  retried.take("RETRY", { job });
  for (const { snapshot } of [resumed, retried]) expect(snapshot.context.run).toHaveProperty("job", job);
});
