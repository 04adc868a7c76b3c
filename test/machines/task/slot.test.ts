import { describe, expect, test } from "vitest";
import { statePath } from "../../../src/machines/chart.ts";
import { slotOf } from "../../../src/machines/task/slot.ts";
import { START } from "../../fakes/task-input.ts";
import { afterEvents, completeAndTell, type DrivenTask, queuedTask, resume, workingTask } from "./driven-task.ts";

const OWN = { call: "call_1", taskIds: ["ses_own"] };

describe("a run waits for its slot", () => {
  test("from its launch on: nothing is sent before", () => {
    expect(slotOf(queuedTask().snapshot)).toBe("waiting");
  });

  test("when it resumes a task", () => {
    const task = completeAndTell(workingTask());
    expect(task.take("RESUME", {})).toMatchObject([{ type: "requestSlot", taskId: "ses_child" }]);
    expect(slotOf(task.snapshot)).toBe("waiting");
  });

  test("and asks again in the process that takes it over", () => {
    const task = queuedTask();
    expect(task.take("ADOPTED")).toMatchObject([{ type: "requestSlot" }]);
    expect(slotOf(task.snapshot)).toBe("waiting");
  });

  test("and needs none when it is cancelled there", () => {
    const task = queuedTask();
    expect(task.take("CANCEL").map(({ type }) => type)).toEqual(["queueNotice"]);
    expect(slotOf(task.snapshot)).toBe("none");
  });
});

describe("a run holds its slot", () => {
  test("from the grant until it ends, whatever the host has to be asked meanwhile", () => {
    const task = queuedTask();
    const states = (["SLOT_GRANTED", "PROMPT_ACCEPTED", "HOST_IDLE", "CHECKED_BUSY", "HOST_IDLE"] as const).map(
      (type) => {
        task.take(type);
        return slotOf(task.snapshot);
      },
    );
    expect(new Set(states)).toEqual(new Set(["held"]));
    task.take("CHECKED_ANSWERED");
    expect(slotOf(task.snapshot)).toBe("none");
  });

  test("while it is being stopped, until it has stopped", () => {
    const task = afterEvents(workingTask(), "CANCEL");
    expect(slotOf(task.snapshot)).toBe("held");
    task.take("STOPPED");
    expect(slotOf(task.snapshot)).toBe("none");
  });
});

describe("a run that waits needs none", () => {
  test("while a person is asked, and has one again once all requests are answered", () => {
    const task = afterEvents(workingTask(), "REQUEST_ASKED");
    task.take("REQUEST_ASKED", { request: { id: "que_1", kind: "question", what: "Which?", since: 0 } });
    expect(slotOf(task.snapshot)).toBe("none");
    task.take("REQUEST_ANSWERED");
    expect(slotOf(task.snapshot)).toBe("none");
    task.take("REQUEST_ANSWERED", { id: "que_1" });
    expect(slotOf(task.snapshot)).toBe("held");
  });

  test.each([
    [
      "one of them ends",
      (task: DrivenTask) => task.take("OWN_TASK_ENDED", { taskId: "ses_own" }),
      "active.working.busy",
    ],
    ["the host is at work on it", (task: DrivenTask) => task.take("HOST_BUSY"), "active.working.busy"],
    ["the host reports an error of it", (task: DrivenTask) => task.take("HOST_ERROR"), "active.working.busy"],
    ["the host reports it idle", (task: DrivenTask) => task.take("HOST_IDLE"), "active.checking.asking.verifying"],
    ["another process takes it over", (task: DrivenTask) => task.take("ADOPTED"), "active.checking.asking.recovering"],
  ])("while its turn has ended and its own tasks run, until %s", (_, happens, next) => {
    const task = afterEvents(workingTask(), "HOST_IDLE", "CHECKED_AWAITING_TASKS");
    expect([statePath(task.snapshot.value.run), slotOf(task.snapshot)]).toEqual([
      "active.working.awaitingTasks",
      "none",
    ]);
    happens(task);
    expect([statePath(task.snapshot.value.run), slotOf(task.snapshot)]).toEqual([next, "held"]);
  });

  test("an error of one that waited is followed by a check, should idle not follow", () => {
    const task = afterEvents(workingTask(), "HOST_IDLE", "CHECKED_AWAITING_TASKS", "HOST_ERROR");
    expect(task.take("TICK")).toMatchObject([{ type: "checkRun", hostError: { name: "APIError" } }]);
  });

  test("while a tool call of its agent waits for its own tasks, until the last of them ends", () => {
    const task = workingTask();
    task.take("CALL_BLOCKED", { call: "call_1", taskIds: ["ses_a", "ses_b"] });
    task.take("CALL_BLOCKED", { call: "call_2", taskIds: ["ses_b"] });
    task.take("OWN_TASK_ENDED", { taskId: "ses_a" });
    expect(slotOf(task.snapshot)).toBe("none");
    task.take("OWN_TASK_ENDED", { taskId: "ses_b" });
    expect(slotOf(task.snapshot)).toBe("held");
    expect(task.refuses("OWN_TASK_ENDED", { taskId: "ses_b" })).toBe(true);
  });

  test("or until that call waits no longer, which is noted once", () => {
    const task = workingTask();
    task.take("CALL_BLOCKED", OWN);
    task.take("CALL_RETURNED", { call: "call_1" });
    expect(slotOf(task.snapshot)).toBe("held");
    expect(task.snapshot.context.blockedCalls).toBeUndefined();
    expect(task.refuses("CALL_RETURNED", { call: "call_1" })).toBe(true);
  });

  test("or until the last of several calls waits no longer", () => {
    const task = workingTask();
    task.take("CALL_BLOCKED", OWN);
    task.take("CALL_BLOCKED", { call: "call_2", taskIds: ["ses_other"] });
    task.take("CALL_RETURNED", { call: "call_1" });
    expect(slotOf(task.snapshot)).toBe("none");
    expect(task.snapshot.context.blockedCalls).toMatchObject([{ call: "call_2" }]);
    expect(task.refuses("CALL_RETURNED", { call: "call_1" })).toBe(true);
    task.take("CALL_RETURNED", { call: "call_2" });
    expect(slotOf(task.snapshot)).toBe("held");
  });

  test("a call that is reported again counts once, with the tasks that it waits for now", () => {
    const task = workingTask();
    task.take("CALL_BLOCKED", OWN);
    task.take("CALL_BLOCKED", { call: "call_1", taskIds: ["ses_other"], at: START + 5 });
    expect(task.snapshot.context.blockedCalls).toEqual([{ call: "call_1", taskIds: ["ses_other"], since: START + 5 }]);
  });

  test("a task that ends lets only go of the calls that wait for it", () => {
    const task = workingTask();
    task.take("CALL_BLOCKED", OWN);
    expect(task.refuses("OWN_TASK_ENDED", { taskId: "ses_other" })).toBe(true);
    task.take("CALL_BLOCKED", { call: "call_2", taskIds: ["ses_other"] });
    task.take("OWN_TASK_ENDED", { taskId: "ses_other" });
    expect(task.snapshot.context.blockedCalls).toMatchObject([{ call: "call_1" }]);
  });

  test("calls end with the process that waited, and with the run", () => {
    const task = workingTask();
    task.take("CALL_BLOCKED", OWN);
    task.take("ADOPTED");
    expect(slotOf(task.snapshot)).toBe("held");
    task.take("CHECKED_BUSY");
    task.take("CALL_BLOCKED", OWN);
    expect(slotOf(resume(completeAndTell(task)).snapshot)).toBe("held");
  });
});

test("a task that was launched by another one has that one notified of its end", () => {
  const task = queuedTask({ parentTaskId: "ses_lead" });
  const effects = task.take("CANCEL");
  expect(effects).toContainEqual({ type: "reportEnd", taskId: "ses_child", parentTaskId: "ses_lead" });
});

test("an end that waits for the others of its batch gives the one that launched it no slot back; an error does", () => {
  const held = () => {
    const task = afterEvents(
      queuedTask({ parentTaskId: "ses_lead", wake: "all" }),
      "SLOT_GRANTED",
      "PROMPT_ACCEPTED",
      "HOST_IDLE",
    );
    return task;
  };
  const reported = expect.objectContaining({ type: "reportEnd" });
  expect(held().take("CHECKED_ANSWERED")).not.toContainEqual(reported);
  expect(held().take("CHECKED_FAILED")).toContainEqual(reported);
  const waitedFor = held();
  waitedFor.take("WAIT_BEGAN");
  expect(waitedFor.take("CHECKED_ANSWERED")).toContainEqual(reported);
});
