import { expect, test } from "vitest";
import { statePaths } from "../../../src/machines/chart.ts";
import { MAX_STEPS } from "../../../src/services/inspection/protocol.ts";
import { createStepLog, eventName, type StepLog } from "../../../src/services/inspection/recorders.ts";

const addActor = (steps: StepLog, key: string) => steps.addActor({ key, kind: "task", id: key, directory: "/project" });

const happen = (steps: StepLog, to: string, event: string, states: string[], taken = true) =>
  steps.completeStep(steps.beginStep({ at: 7, from: null, to, event }), states, [], taken);

test("state paths are those of the innermost states of all regions", () => {
  expect(statePaths("open")).toEqual(["open"]);
  expect(statePaths({ run: { stopping: "aborting" }, notice: "none", attention: {} })).toEqual([
    "run.stopping.aborting",
    "notice.none",
    "attention",
  ]);
});

test("an event's name is its type and that of a wrapped event or effect, and nothing else", () => {
  expect(eventName({ type: "CANCEL" })).toBe("CANCEL");
  expect(eventName({ type: "HOST", event: { type: "idle", sessionID: "secret" } })).toBe("HOST idle");
  expect(eventName({ type: "EFFECT", effect: { type: "sendPrompt", prompt: "secret" } })).toBe("EFFECT sendPrompt");
  expect(eventName({ type: "ODD", event: "secret", effect: { type: 7 } })).toBe("ODD");
});

test("a step has the states entered and left; an actor keeps its last transition", () => {
  const steps = createStepLog();
  addActor(steps, "a");
  happen(steps, "a", "INIT", ["run.queued", "notice.none"]);
  happen(steps, "a", "GO", ["run.active.working.busy", "notice.none"]);
  happen(steps, "a", "NOISE", ["run.active.working.busy", "notice.none"], false);
  const { actors, steps: told } = steps.since(0);
  expect(told.map(({ number, event, entered, left, taken }) => ({ number, event, entered, left, taken }))).toEqual([
    { number: 1, event: "INIT", entered: ["run.queued", "notice.none"], left: [], taken: true },
    { number: 2, event: "GO", entered: ["run.active.working.busy"], left: ["run.queued"], taken: true },
    { number: 3, event: "NOISE", entered: [], left: [], taken: false },
  ]);
  expect(actors).toEqual([
    {
      key: "a",
      kind: "task",
      id: "a",
      directory: "/project",
      states: ["run.active.working.busy", "notice.none"],
      lastTransition: {
        ...{ number: 2, at: 7, event: "GO", entered: ["run.active.working.busy"], left: ["run.queued"] },
        through: {},
      },
      newest: 3,
      gone: false,
    },
  ]);
});

test("a reader of some steps gets the others, and only the actors that took part in them", () => {
  const steps = createStepLog();
  for (const key of ["a", "b"]) addActor(steps, key);
  happen(steps, "a", "ONE", ["one"]);
  const seen = steps.newest();
  happen(steps, "b", "TWO", ["two"]);
  const { actors, steps: told } = steps.since(seen);
  expect(told.map(({ event }) => event)).toEqual(["TWO"]);
  expect(actors.map(({ key }) => key)).toEqual(["b"]);
  expect(steps.since(steps.newest())).toEqual({ actors: [], steps: [] });
});

test("the newest steps are kept, living actors, and gone ones for as long as a step of theirs is kept", () => {
  const steps = createStepLog();
  for (const key of ["lives", "gone", "noisy"]) addActor(steps, key);
  happen(steps, "lives", "INIT", ["a"]);
  happen(steps, "gone", "INIT", ["a"]);
  steps.removeActor("gone");
  const keys = () => steps.since(0).actors.map(({ key }) => key);
  for (let count = 2; count < MAX_STEPS; count += 1) happen(steps, "noisy", "TICK", ["a"]);
  expect(keys()).toEqual(["lives", "gone", "noisy"]);
  for (let count = 0; count < 2; count += 1) happen(steps, "noisy", "TICK", ["a"]);
  expect(keys()).toEqual(["lives", "noisy"]);
  expect(steps.since(0).steps).toHaveLength(MAX_STEPS);
  expect(steps.since(0).steps[0]?.number).toBe(3);
});

test("an actor that comes back is the same actor", () => {
  const steps = createStepLog();
  addActor(steps, "a");
  happen(steps, "a", "END", ["completed"]);
  steps.removeActor("a");
  addActor(steps, "a");
  expect(steps.since(0).actors).toMatchObject([{ key: "a", states: ["completed"], gone: false }]);
});
