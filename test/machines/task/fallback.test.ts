import { describe, expect, test } from "vitest";
import { refusedModelsWith } from "../../../src/machines/task/fallback.ts";
import { lifecyclePath } from "../../../src/machines/task/machine.ts";
import { TASK_LIMITS } from "../../../src/machines/task/setup.ts";
import { slotOf, slotRequestOf } from "../../../src/machines/task/slot.ts";
import { toTask } from "../../../src/machines/task/view.ts";
import { type ModelRef, noProgress } from "../../../src/task.ts";
import { START } from "../../fakes/task-input.ts";
import { afterEvents, check, completeAndTell, type DrivenTask, failChecks, queuedTask } from "./driven-task.ts";

const OWN: ModelRef = { providerID: "fake", modelID: "m1" };
const SECOND: ModelRef = { providerID: "fake", modelID: "m2" };
const THIRD: ModelRef = { providerID: "other", modelID: "m3", variant: "high" };
const AFTER = 60_000;

const NO_CREDIT = { name: "APIError", kind: "provider", message: "no credit", refusal: "quota" } as const;

const workingTask = (models: ModelRef[] = [SECOND, THIRD]): DrivenTask => {
  const task = afterEvents(
    queuedTask({ model: OWN, ...(models.length > 0 ? { fallback: { models, after: AFTER } } : {}) }),
    "SLOT_GRANTED",
    "PROMPT_ACCEPTED",
  );
  return task;
};

/** The model refuses the run; returns what is requested then. */
const refuse = (task: DrivenTask, error: object = NO_CREDIT, model?: ModelRef) => {
  task.take("HOST_IDLE");
  return task.take("CHECKED_FAILED", { error: error as typeof NO_CREDIT, ...(model ? { model } : {}) });
};

/** The refused model's turn has ended, and the run asks for a slot of the next one. Returns what is requested then. */
const leave = (task: DrivenTask, model: ModelRef) => {
  task.take("MODEL_CHANGED", { model });
  return task.take("TICK");
};

/** The same, and the next model works. Returns the prompt that it got. */
const goOn = (task: DrivenTask, model: ModelRef) => {
  leave(task, model);
  const effects = task.take("SLOT_GRANTED");
  task.take("PROMPT_ACCEPTED");
  return effects;
};

const iso = (at: number) => new Date(at).toISOString();
const stateOf = ({ snapshot }: DrivenTask) => lifecyclePath(snapshot);
const taskOf = ({ snapshot }: DrivenTask) => toTask(snapshot, noProgress(snapshot.context.facts.startedAt));

describe("a run whose model is refused", () => {
  test("goes on with the next model in the same session, with the same ids, once the turn has ended", () => {
    const task = workingTask();
    expect(refuse(task)).toEqual([{ type: "changeModel", taskId: "ses_child", model: SECOND }]);
    expect([stateOf(task), slotOf(task.snapshot)]).toEqual(["running.active.changingModel.ending", "held"]);
    task.take("MODEL_CHANGED", { model: SECOND });
    expect(task.snapshot.context.nextDeadline).toBe(START + TASK_LIMITS.checkAfterError);
    const { messageID, partID, prompt } = task.snapshot.context.run;
    task.take("TICK");
    expect(task.take("SLOT_GRANTED")).toMatchObject([
      {
        type: "sendPrompt",
        taskId: "ses_child",
        prompt: { sessionID: "ses_child", messageID, parts: [{ id: partID, text: prompt }] },
      },
    ]);
    expect(taskOf(task)).toMatchObject({ model: SECOND, refusedModels: [{ model: OWN, reason: "no credit" }] });
  });

  test("sends the newest instruction of the run again, since that is what the model is to answer", () => {
    const task = afterEvents(workingTask(), "STEER", "STEERING_STORED");
    task.take("CHECKED_FAILED", { error: NO_CREDIT });
    expect(goOn(task, SECOND)).toMatchObject([{ type: "sendPrompt", prompt: { messageID: "msg_3", model: SECOND } }]);
  });

  test("tries each model once, and then fails, with the reasons of all", () => {
    const task = workingTask([SECOND, OWN, { ...SECOND, variant: "low" }, THIRD]);
    refuse(task);
    expect(goOn(task, SECOND)).toMatchObject([{ prompt: { model: SECOND } }]);
    expect(refuse(task, { ...NO_CREDIT, message: "no such model" })).toMatchObject([{ model: THIRD }]);
    expect(goOn(task, THIRD)).toMatchObject([{ prompt: { model: THIRD } }]);
    const [notice] = refuse(task, { ...NO_CREDIT, message: "wrong key" });
    const refusedModels = [
      { model: OWN, reason: "no credit" },
      { model: SECOND, reason: "no such model" },
      { model: THIRD, reason: "wrong key" },
    ];
    expect(notice).toMatchObject({ type: "queueNotice", end: { outcome: "error", model: THIRD, refusedModels } });
    expect(taskOf(task)).toMatchObject({ status: "error", error: { message: "wrong key" }, refusedModels });
  });

  test("goes on with its own model where a person asked another one, which alone is blamed", () => {
    const task = workingTask();
    expect(refuse(task, NO_CREDIT, THIRD)).toEqual([{ type: "changeModel", taskId: "ses_child", model: OWN }]);
    expect(task.snapshot.context.refusedModels).toEqual([{ model: THIRD, reason: "no credit" }]);
    expect(goOn(task, OWN)).toMatchObject([{ type: "sendPrompt", prompt: { model: OWN } }]);
    expect(refuse(task)).toMatchObject([{ type: "changeModel", model: SECOND }]);
  });

  test("leaves its own model when another one refuses it twice: the host may have two names for it", () => {
    const task = workingTask();
    const alias = { providerID: "fake", modelID: "m1-2026" };
    expect(refuse(task, NO_CREDIT, alias)).toMatchObject([{ model: OWN }]);
    goOn(task, OWN);
    expect(refuse(task, NO_CREDIT, alias)).toMatchObject([{ model: SECOND }]);
    expect(task.snapshot.context.refusedModels?.map(({ model }) => model)).toEqual([alias, OWN]);
  });

  test("names its own model once, however often another one refuses it", () => {
    const task = workingTask();
    const alias = { providerID: "fake", modelID: "m1-2026" };
    const { facts } = task.snapshot.context;
    const refusedModels = [alias, OWN].map((model) => ({ model, reason: "no credit" }));
    const named = refusedModelsWith({ facts, model: OWN, refusedModels }, "still no credit", alias);
    expect(named).toEqual([
      { model: OWN, reason: "no credit" },
      { model: alias, reason: "still no credit" },
    ]);
  });

  test("names the model that was asked where the task has none of its own, and does not ask it again", () => {
    const task = afterEvents(
      queuedTask({ fallback: { models: [SECOND, THIRD], after: AFTER } }),
      "SLOT_GRANTED",
      "PROMPT_ACCEPTED",
    );
    expect(refuse(task, NO_CREDIT, SECOND)).toMatchObject([{ type: "changeModel", model: THIRD }]);
    expect(task.snapshot.context.refusedModels).toEqual([{ model: SECOND, reason: "no credit" }]);
  });

  test("is cancelled when a person aborts what came after the refused turn", () => {
    const task = workingTask();
    refuse(task);
    const aborted = { error: { name: "MessageAbortedError", message: "Aborted" } };
    expect(task.refuses("HOST_ERROR", aborted)).toBe(true);
    task.take("MODEL_CHANGED", { model: SECOND });
    task.take("HOST_ERROR", aborted);
    expect(stateOf(task)).toBe("running.active.checking.aborted");
    task.take("TICK");
    expect(stateOf(task)).toBe("cancelled");
  });

  test("fails at once where there is no other model, or the failure is none of the model's", () => {
    for (const [models, error] of [
      [[], NO_CREDIT],
      [[OWN], NO_CREDIT],
      [[SECOND], { name: "ContextOverflowError", kind: "provider", message: "too long" }],
    ] as const) {
      const task = workingTask([...models]);
      refuse(task, error);
      expect(taskOf(task)).toMatchObject({ status: "error", error });
      expect(taskOf(task).refusedModels).toBeUndefined();
    }
  });

  test("is counted against the limits of the model that it works with", () => {
    const task = workingTask([THIRD]);
    refuse(task);
    expect(slotRequestOf(task.snapshot.context)).toMatchObject({ provider: "fake", model: "fake/m1" });
    task.take("MODEL_CHANGED", { model: THIRD });
    expect(slotRequestOf(task.snapshot.context)).toMatchObject({ provider: "other", model: "other/m3" });
  });

  test("asks for a slot of that model, by the age of the run, and waits for it like one that was not sent", () => {
    const task = workingTask([THIRD]);
    refuse(task);
    const request = { provider: "other", model: "other/m3", since: START, goesOn: true };
    expect(leave(task, THIRD)).toMatchObject([{ type: "requestSlot", ...request }]);
    expect([stateOf(task), slotOf(task.snapshot)]).toEqual(["running.queued", "waiting"]);
    expect(taskOf(task).waiting).toEqual({ for: "slot", since: iso(START + TASK_LIMITS.checkAfterError) });
    expect(task.refuses("HOST_RETRYING")).toBe(true);
    expect(task.take("ADOPTED")).toMatchObject([{ type: "requestSlot", ...request }]);
    task.take("SLOT_GRANTED", { at: START + 90_000 });
    expect(task.snapshot.context.queuedUntil).toBe(START + 90_000);
  });

  test("is stopped while it waits for that slot: what it launched may be at work", () => {
    for (const event of ["CANCEL", "LIMIT_EXCEEDED"] as const) {
      const task = workingTask();
      refuse(task);
      leave(task, SECOND);
      expect(task.take(event)).toContainEqual(expect.objectContaining({ type: "stopSession" }));
    }
  });

  test("has its turn aborted again until the host confirms it, or else fails", () => {
    const task = workingTask();
    refuse(task);
    task.take("NOT_STOPPED");
    expect(stateOf(task)).toBe("running.active.changingModel.pausing");
    expect(task.take("TICK")).toMatchObject([{ type: "changeModel", model: SECOND }]);
    for (let tries = 2; tries < TASK_LIMITS.failedChecks; tries += 1) {
      afterEvents(task, "NOT_STOPPED", "TICK");
    }
    expect(task.take("NOT_STOPPED").map(({ type }) => type)).toContain("stopSession");
    expect(taskOf(task).status).toBe("error");
  });

  test("has as many tries to be aborted, whatever checks failed before", () => {
    const task = workingTask();
    failChecks(task, 5);
    check(task);
    task.take("CHECKED_FAILED", { error: NO_CREDIT });
    expect(task.snapshot.context.failedChecks).toBe(0);
  });

  test("lets failures and aborts of the model that it left count no more", () => {
    const task = workingTask();
    refuse(task);
    goOn(task, SECOND);
    const leftAt = START + TASK_LIMITS.checkAfterError;
    expect(task.take("HOST_IDLE")).toMatchObject([{ type: "checkRun", modelLeftAt: leftAt, hostError: undefined }]);
  });

  test("hears nothing of that turn while it is ended", () => {
    const task = workingTask();
    refuse(task);
    const late = ["HOST_IDLE", "HOST_ERROR", "HOST_BUSY", "HOST_RETRYING"] as const;
    for (const event of late) expect(task.refuses(event)).toBe(true);
    task.take("MODEL_CHANGED", { model: SECOND });
    for (const event of late) expect(task.refuses(event)).toBe(true);
  });

  test.each(["ending", "settling"] as const)(
    "can be cancelled, stopped at a limit and taken over while %s",
    (state) => {
      const begun = () => {
        const task = workingTask();
        refuse(task);
        if (state === "settling") task.take("MODEL_CHANGED", { model: SECOND });
        return task;
      };
      for (const event of ["CANCEL", "LIMIT_EXCEEDED"] as const) {
        expect(begun().take(event)).toContainEqual(expect.objectContaining({ type: "stopSession" }));
      }
      const task = afterEvents(begun(), "ADOPTED");
      const [sent] = task.take("CHECKED_UNANSWERED");
      expect(sent).toMatchObject({ type: "sendPrompt", prompt: { model: state === "ending" ? OWN : SECOND } });
    },
  );

  test("is refused once more by the same model after a crash, and named once", () => {
    const task = workingTask();
    refuse(task);
    task.take("ADOPTED");
    expect(task.take("CHECKED_FAILED", { error: NO_CREDIT })).toMatchObject([{ type: "changeModel", model: SECOND }]);
    expect(task.snapshot.context.refusedModels).toEqual([{ model: OWN, reason: "no credit" }]);
  });

  test("is not continued by another model after a crash where runs are to fail then", () => {
    const task = workingTask();
    task.take("ADOPTED", { recovery: "fail" });
    task.take("CHECKED_FAILED", { error: NO_CREDIT });
    expect(taskOf(task).status).toBe("error");
  });
});

describe("a run whose provider refuses for now", () => {
  const told = (task: DrivenTask, attempt: number, at: number, until: number) =>
    task.take("HOST_RETRYING", { attempt, at, until, message: "slow down" });

  test("goes on with the next model as soon as it would wait too long, counted from the first refusal", () => {
    const task = workingTask();
    told(task, 1, START, START + 40_000);
    expect(task.snapshot.context.nextDeadline).toBeUndefined();
    task.take("HOST_BUSY", { at: START + 40_000 });
    told(task, 2, START + 41_000, START + AFTER + 1);
    expect(task.snapshot.context.nextDeadline).toBe(START + 41_000);
    expect(task.take("TICK")).toEqual([{ type: "changeModel", taskId: "ses_child", model: SECOND }]);
    expect(task.snapshot.context.refusedModels).toEqual([{ model: OWN, reason: "slow down" }]);
    goOn(task, SECOND);
    expect(task.snapshot.context.retry).toBeUndefined();
  });

  test("waits as long as it is to, and for ever where there is no other model", () => {
    for (const [models, until] of [
      [[SECOND], START + AFTER],
      [[], START + 100 * AFTER],
      [[OWN], START + 100 * AFTER],
    ] as const) {
      const task = workingTask([...models]);
      told(task, 1, START, until);
      expect([stateOf(task), task.snapshot.context.nextDeadline]).toEqual([
        "running.active.working.retrying",
        undefined,
      ]);
    }
  });
});

test("the next run begins with the task's own model again", () => {
  const task = workingTask();
  refuse(task);
  goOn(task, SECOND);
  completeAndTell(task);
  expect(task.snapshot.context.lastRunResult).toMatchObject({ model: SECOND, refusedModels: [{ model: OWN }] });
  task.take("RESUME");
  expect(task.take("SLOT_GRANTED")).toMatchObject([{ type: "sendPrompt", prompt: { model: OWN } }]);
  expect(taskOf(task)).toMatchObject({ model: OWN });
  expect(taskOf(task).refusedModels).toBeUndefined();
});
