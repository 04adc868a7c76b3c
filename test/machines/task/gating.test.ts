import { describe, expect, test } from "vitest";
import { statePath } from "../../../src/machines/chart.ts";
import { statusOf } from "../../../src/machines/task/machine.ts";
import { waitingOf } from "../../../src/machines/task/view.ts";
import { afterEvents, type DrivenTask, queuedTask } from "./driven-task.ts";

const GATE = { command: "npm test", tries: 1, timeout: 60_000 };

const failed = { end: { end: "exited", exit: 1, output: "2 tests failed\n" } } as const;
const passed = { end: { end: "exited", exit: 0, output: "" } } as const;

/** A task whose first answer is at its gate. */
const gatedTask = (): DrivenTask =>
  afterEvents(queuedTask({ gate: GATE }), "SLOT_GRANTED", "PROMPT_ACCEPTED", "HOST_IDLE", "CHECKED_ANSWERED");

const types = (effects: readonly { type: string }[]): string[] => effects.map(({ type }) => type);

/** Brings the next answer to the gate. */
const answerAgain = (task: DrivenTask) => {
  afterEvents(task, "PROMPT_ACCEPTED", "HOST_IDLE");
  return task.take("CHECKED_ANSWERED", { result: "Now it does." });
};

test("an answer leads to the gate, whose command is to run in the task's folder", () => {
  const task = afterEvents(
    queuedTask({ gate: GATE, directory: "/here" }),
    "SLOT_GRANTED",
    "PROMPT_ACCEPTED",
    "HOST_IDLE",
  );
  expect(task.take("CHECKED_ANSWERED")).toEqual([
    { type: "runGate", taskId: "ses_child", gateRun: 1, directory: "/here", gate: GATE },
  ]);
  expect(statusOf(task.snapshot)).toBe("running");
  expect(task.snapshot.context).toMatchObject({ completedAt: undefined, result: undefined });
});

test("the gate of a task in a worktree runs there", () => {
  const worktree = { id: "1", directory: "/there", isShared: false };
  const task = afterEvents(queuedTask({ gate: GATE, worktree }), "SLOT_GRANTED", "PROMPT_ACCEPTED", "HOST_IDLE");
  expect(task.take("CHECKED_ANSWERED")).toMatchObject([{ directory: "/there" }]);
});

describe("the end of the command", () => {
  test("that passed completes the run with the answer, at that time", () => {
    const task = gatedTask();
    const at = task.snapshot.context.run.startedAt + 5_000;
    expect(types(task.take("GATE_ENDED", { gateRun: 1, at, ...passed }))).toEqual(["stopGate", "queueNotice"]);
    expect(statusOf(task.snapshot)).toBe("completed");
    expect(task.snapshot.context).toMatchObject({ completedAt: at, result: "12", gate: { failures: 0, runs: 1 } });
  });

  test("that failed gives its words to the child, as an instruction with the ids that came with them", () => {
    const task = gatedTask();
    const words = { messageID: "msg_gate", partID: "prt_gate", prompt: "It failed." };
    const [stop, prompt] = task.take("GATE_ENDED", { gateRun: 1, ...failed, ...words });
    expect(stop).toEqual({ type: "stopGate", taskId: "ses_child" });
    expect(prompt).toMatchObject({
      type: "sendPrompt",
      prompt: { messageID: "msg_gate", parts: [{ id: "prt_gate", text: "It failed." }] },
    });
    expect(task.snapshot.context.sendAttempts).toBe(1);
  });

  test("is that of the newest answer alone", () => {
    const task = gatedTask();
    task.take("GATE_ENDED", { gateRun: 1, ...failed });
    expect(answerAgain(task)).toMatchObject([{ type: "runGate", gateRun: 2 }]);
    expect(task.refuses("GATE_ENDED", { gateRun: 1, ...passed })).toBe(true);
    task.take("GATE_ENDED", { gateRun: 2, ...passed });
    expect(task.snapshot.context.result).toBe("Now it does.");
  });

  test("that failed as often as it may ends the run with the answer kept, and says how it ended", () => {
    const task = gatedTask();
    task.take("GATE_ENDED", { gateRun: 1, ...failed });
    answerAgain(task);
    const at = task.snapshot.context.run.startedAt + 9_000;
    const end = { end: "timedOut", output: "x".repeat(600) } as const;
    const effects = task.take("GATE_ENDED", { gateRun: 2, at, end });
    expect(types(effects)).toEqual(["stopGate", "queueNotice"]);
    expect(statusOf(task.snapshot)).toBe("error");
    expect(task.snapshot.context).toMatchObject({
      completedAt: at,
      result: "Now it does.",
      error: {
        name: "GateFailed",
        kind: "gate",
        message: `The answer did not pass the gate "npm test", which did not end within its time (failure 2). The end of its output: ${"x".repeat(500)}`,
      },
      lastRunResult: { outcome: "error", result: "Now it does." },
    });
  });

  test("is reported with its exit code, and what it wrote without the empty lines around it", () => {
    const task = afterEvents(
      queuedTask({ gate: { ...GATE, tries: 0 } }),
      "SLOT_GRANTED",
      "PROMPT_ACCEPTED",
      "HOST_IDLE",
    );
    task.take("CHECKED_ANSWERED");
    task.take("GATE_ENDED", { gateRun: 1, end: { end: "exited", exit: 7, output: "\n no \n\n" } });
    expect(task.snapshot.context.error?.message).toBe(
      'The answer did not pass the gate "npm test", which ended with exit code 7. The end of its output: no',
    );
  });

  test("that could not begin ends the run at once", () => {
    const task = gatedTask();
    task.take("GATE_ENDED", { gateRun: 1, end: { end: "notRun", output: "no such folder" } });
    expect(task.snapshot.context.error?.message).toBe(
      'The answer did not pass the gate "npm test", which could not be run: no such folder.',
    );
  });

  test("leads on where an instruction is on its way: the child has not taken it in", () => {
    const task = afterEvents(gatedTask(), "STEER");
    task.take("GATE_ENDED", { gateRun: 1, ...passed });
    expect(task.snapshot.context.gate?.last).toEqual(passed.end);
    expect(statePath(task.snapshot.value.run)).toBe("active.working.busy");
    expect(statusOf(task.snapshot)).toBe("running");
  });
});

test("what the run waits for is the gate, since the answer came to it", () => {
  const task = afterEvents(queuedTask({ gate: GATE }), "SLOT_GRANTED", "PROMPT_ACCEPTED", "HOST_IDLE");
  const at = task.snapshot.context.run.startedAt + 7_000;
  task.take("CHECKED_ANSWERED", { at });
  expect(waitingOf(task.snapshot)).toEqual({ for: "gate", since: new Date(at).toISOString() });
});

describe("an instruction at the gate", () => {
  test("that is stored has the host asked how the run stands: the child has not seen it", () => {
    const task = gatedTask();
    expect(types(task.take("STEER"))).toEqual(["sendSteering"]);
    expect(task.refuses("STEERING_STORED", { messageID: "msg_other" })).toBe(true);
    expect(types(task.take("STEERING_STORED"))).toEqual(["stopGate", "checkRun"]);
  });

  test("that the host cannot take now is sent again later, while the run counts as at work", () => {
    const task = afterEvents(gatedTask(), "STEER");
    expect(types(task.take("STEERING_REFUSED"))).toEqual(["stopGate"]);
    expect(statePath(task.snapshot.value.run)).toBe("active.working.busy");
    expect(task.snapshot.context.nextDeadline).toBeGreaterThan(0);
  });
});

test("at the gate the child has been at work: neither an error nor a failed check from before counts any more", () => {
  const task = afterEvents(queuedTask({ gate: GATE }), "SLOT_GRANTED", "PROMPT_ACCEPTED", "HOST_ERROR", "HOST_IDLE");
  task.take("CHECKED_ANSWERED");
  expect(task.snapshot.context).toMatchObject({ hostError: undefined, failedChecks: 0, sendAttempts: 1 });
});

test.each([
  ["CANCEL", ["stopGate", "stopSession"]],
  ["LIMIT_EXCEEDED", ["stopGate", "stopSession"]],
  ["SESSION_DELETED", ["stopGate", "stopSession", "queueNotice"]],
  ["ADOPTED", ["stopGate", "checkRun"]],
] as const)("what leads away from the gate ends its command: %s", (type, effects) => {
  expect(types(gatedTask().take(type))).toEqual(effects);
});

/** Has OpenCode end while the answer is at the gate, and the next process find the same answer; returns what that leads to. */
const endAtGate = (task: DrivenTask) => {
  expect(types(task.take("ADOPTED"))).toEqual(["stopGate", "checkRun"]);
  return types(task.take("CHECKED_ANSWERED"));
};

describe("an answer at whose gate OpenCode ends", () => {
  test("comes to the gate again, but the third time in a row ends the run: the answer is kept, and the error says why", () => {
    const task = gatedTask();
    expect([endAtGate(task), endAtGate(task)]).toEqual([["runGate"], ["runGate"]]);
    expect(endAtGate(task)).toEqual(["queueNotice"]);
    expect(statusOf(task.snapshot)).toBe("error");
    expect(task.snapshot.context).toMatchObject({
      result: "12",
      error: {
        ...{ name: "GateInterrupted", kind: "gate" },
        message: 'The gate "npm test" was not run to its end: OpenCode ended 3 times in a row meanwhile.',
      },
    });
  });

  test("counts anew once the agent has worked since", () => {
    const task = gatedTask();
    for (let time = 0; time < 2; time += 1) endAtGate(task);
    task.take("GATE_ENDED", { gateRun: 3, ...failed });
    answerAgain(task);
    expect([endAtGate(task), endAtGate(task)]).toEqual([["runGate"], ["runGate"]]);
  });

  test("leads on the third time, too, where an instruction is on its way: the agent has not taken it in", () => {
    const task = gatedTask();
    for (let time = 0; time < 2; time += 1) endAtGate(task);
    afterEvents(task, "ADOPTED", "STEER", "CHECKED_ANSWERED");
    expect(statePath(task.snapshot.value.run)).toBe("active.working.busy");
  });
});

test("a resumed run begins without what the gate said of the one before", () => {
  const task = gatedTask();
  task.take("GATE_ENDED", { gateRun: 1, ...failed });
  answerAgain(task);
  task.take("GATE_ENDED", { gateRun: 2, ...passed });
  afterEvents(task, "NOTICE_COMPOSED", "NOTICE_ACKNOWLEDGED", "RESUME");
  expect(task.snapshot.context.gate).toBeUndefined();
});

test("a task without a gate ends with its answer", () => {
  const task = afterEvents(queuedTask(), "SLOT_GRANTED", "PROMPT_ACCEPTED", "HOST_IDLE", "CHECKED_ANSWERED");
  expect(statusOf(task.snapshot)).toBe("completed");
});
