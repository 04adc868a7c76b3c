import { describe, expect, test } from "vitest";
import { statePath } from "../../../src/machines/chart.ts";
import { statusOf } from "../../../src/machines/task/machine.ts";
import type { TaskFacts } from "../../../src/task.ts";
import { afterEvents, type DrivenTask, queuedTask } from "./driven-task.ts";

const SCHEMA = { type: "object", required: ["files"] };

const misfitOf = (name: string) => ({
  messageID: `msg_${name}`,
  partID: `prt_${name}`,
  prompt: `It lacks files (${name}).`,
  error: { name: "SchemaMisfit", kind: "schema", message: `no files (${name})` } as const,
});

/** A task with a schema, of which the host is asked how its run stands. */
const askedTask = (facts: Partial<TaskFacts> = {}): DrivenTask =>
  afterEvents(queuedTask({ schema: SCHEMA, ...facts }), "SLOT_GRANTED", "PROMPT_ACCEPTED", "HOST_IDLE");

const types = (effects: readonly { type: string }[]): string[] => effects.map(({ type }) => type);

/** The child has answered again. */
const askedAgain = (task: DrivenTask) => afterEvents(task, "PROMPT_ACCEPTED", "HOST_IDLE");

test("the schema goes with the prompt, and with the question how the run stands", () => {
  const task = queuedTask({ schema: SCHEMA });
  expect(task.take("SLOT_GRANTED")).toMatchObject([{ type: "sendPrompt", schema: SCHEMA }]);
  expect(afterEvents(task, "PROMPT_ACCEPTED").take("HOST_IDLE")).toMatchObject([{ type: "checkRun", schema: SCHEMA }]);
});

describe("an answer", () => {
  test("that fits completes the run", () => {
    const task = askedTask();
    task.take("CHECKED_ANSWERED", { result: '{"files":[]}' });
    expect(statusOf(task.snapshot)).toBe("completed");
    expect(task.snapshot.context.result).toBe('{"files":[]}');
  });

  test("that does not fit is given back with what is wrong, as an instruction with the ids that came with it", () => {
    const task = askedTask();
    const effects = task.take("CHECKED_ANSWERED", { result: "two", misfit: misfitOf("a") });
    expect(effects).toMatchObject([
      {
        type: "sendPrompt",
        prompt: { messageID: "msg_a", parts: [{ id: "prt_a", text: "It lacks files (a)." }] },
        schema: SCHEMA,
      },
    ]);
    expect(statusOf(task.snapshot)).toBe("running");
    expect(task.snapshot.context).toMatchObject({ sendAttempts: 1, result: undefined, completedAt: undefined });
  });

  test("that fits at the second try completes the run", () => {
    const task = askedTask();
    task.take("CHECKED_ANSWERED", { result: "two", misfit: misfitOf("a") });
    askedAgain(task).take("CHECKED_ANSWERED", { result: '{"files":["a"]}' });
    expect(statusOf(task.snapshot)).toBe("completed");
    expect(task.snapshot.context).toMatchObject({ result: '{"files":["a"]}', error: undefined });
  });

  test("that does not fit once more ends the run with the answer kept, at the time of that answer", () => {
    const task = askedTask();
    task.take("CHECKED_ANSWERED", { result: "two", misfit: misfitOf("a") });
    const completedAt = task.snapshot.context.run.startedAt + 9_000;
    const again = askedAgain(task);
    const effects = again.take("CHECKED_ANSWERED", { result: "three", completedAt, misfit: misfitOf("b") });
    expect(types(effects)).toEqual(["queueNotice"]);
    expect(statusOf(task.snapshot)).toBe("error");
    expect(task.snapshot.context).toMatchObject({
      completedAt,
      result: "three",
      error: { kind: "schema", message: "no files (b)" },
      lastRunResult: { outcome: "error", result: "three" },
    });
  });

  test("with an instruction on its way does not count: the child has not taken that in", () => {
    const task = afterEvents(askedTask(), "STEER");
    task.take("CHECKED_ANSWERED", { result: "two", misfit: misfitOf("a") });
    expect(statePath(task.snapshot.value.run)).toBe("active.working.busy");
    expect(task.snapshot.context.misfits).toBeUndefined();
  });

  test("to an old check is refused", () => {
    expect(askedTask().refuses("CHECKED_ANSWERED", { checkId: 0, misfit: misfitOf("a") })).toBe(true);
  });
});

test("at its answer the child has been at work: an error from before does not count any more", () => {
  const task = afterEvents(
    queuedTask({ schema: SCHEMA }),
    "SLOT_GRANTED",
    "PROMPT_ACCEPTED",
    "HOST_ERROR",
    "HOST_IDLE",
  );
  task.take("CHECKED_ANSWERED", { misfit: misfitOf("a") });
  expect(task.snapshot.context).toMatchObject({ hostError: undefined, failedChecks: 0 });
});

test("a task that was taken over has its answer checked, too", () => {
  const task = afterEvents(askedTask(), "ADOPTED");
  expect(types(task.take("CHECKED_ANSWERED", { misfit: misfitOf("a") }))).toEqual(["sendPrompt"]);
});

test("an answer that fits comes to the gate, and after a gate that failed may be given back anew", () => {
  const task = askedTask({ gate: { command: "npm test", tries: 1, timeout: 60_000 } });
  task.take("CHECKED_ANSWERED", { misfit: misfitOf("a") });
  expect(types(askedAgain(task).take("CHECKED_ANSWERED"))).toEqual(["runGate"]);
  const failed = { end: { end: "exited", exit: 1, output: "" } } as const;
  task.take("GATE_ENDED", { gateRun: 1, ...failed, messageID: "msg_g", partID: "prt_g", prompt: "no" });
  expect(types(askedAgain(task).take("CHECKED_ANSWERED", { misfit: misfitOf("b") }))).toEqual(["sendPrompt"]);
  askedAgain(task).take("CHECKED_ANSWERED", { misfit: misfitOf("c") });
  expect(task.snapshot.context.error?.kind).toBe("schema");
});

test("a resumed run may be given back its answer as the first one", () => {
  const task = askedTask();
  task.take("CHECKED_ANSWERED", { misfit: misfitOf("a") });
  askedAgain(task).take("CHECKED_ANSWERED");
  afterEvents(task, "NOTICE_COMPOSED", "NOTICE_ACKNOWLEDGED", "RESUME", "SLOT_GRANTED", "PROMPT_ACCEPTED", "HOST_IDLE");
  expect(types(task.take("CHECKED_ANSWERED", { misfit: misfitOf("b") }))).toEqual(["sendPrompt"]);
});

describe("an answer during whose check OpenCode ends", () => {
  /** Has OpenCode end; returns the schema with which the next process asks how the run stands. */
  const end = (task: DrivenTask) => task.take("ADOPTED").map((effect) => "schema" in effect && effect.schema);

  test("is compared with its schema again, but not after the third time in a row: the run ends with it, and says why", () => {
    const task = askedTask();
    expect([end(task), end(task), end(task)]).toEqual([[SCHEMA], [SCHEMA], [false]]);
    expect(types(task.take("CHECKED_ANSWERED", { result: "two" }))).toEqual(["queueNotice"]);
    expect(statusOf(task.snapshot)).toBe("error");
    expect(task.snapshot.context).toMatchObject({
      result: "two",
      error: {
        ...{ name: "CheckInterrupted", kind: "schema" },
        message:
          "The answer was not compared with its JSON Schema to the end: OpenCode ended 3 times in a row meanwhile.",
      },
    });
  });

  test("counts as often as it may and no more, however often OpenCode ends: what is kept of it does not grow", () => {
    const task = askedTask();
    for (let time = 0; time < 5; time += 1) end(task);
    expect(task.snapshot.context.endedInChecks).toBe(3);
  });
});
