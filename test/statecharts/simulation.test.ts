import { describe, expect, test } from "vitest";
import { type AnyEventObject, type AnyStateMachine, createActor } from "xstate";
import { createStepRecorder, type PlainRun, playPlainRun } from "../../scripts/statecharts/plain-run.ts";
import { machines } from "../../src/machines/chart-json.ts";
import { walk } from "../../src/machines/task/replay.ts";
import { createStage, PARENT } from "../fakes/stage.ts";
import { settled } from "../fakes/virtual-clock.ts";

/** What is tested here needs nothing of this repository but the files. */
interface Exported {
  machine: AnyStateMachine;
  plainRun: AnyEventObject[];
}

const load = async (name: string): Promise<Exported> => {
  const { [name]: machine, plainRun } = await import(new URL(`../../statecharts/${name}.js`, import.meta.url).href);
  return { machine, plainRun };
};

/** Returns the states in which a chart begins, and those after each event. */
const simulate = ({ machine }: Exported, events: AnyEventObject[]): unknown[] => {
  const actor = createActor(machine).start();
  const values: unknown[] = [actor.getSnapshot().value];
  for (const event of events) {
    actor.send(event);
    values.push(actor.getSnapshot().value);
  }
  return values;
};

const statesIn = (run: PlainRun, name: string): unknown[] => (run[name] ?? []).map(({ after }) => after.value);

/** Returns the events of a run as a person would send them: without payloads. */
const eventsIn = (run: PlainRun, name: string): AnyEventObject[] =>
  (run[name] ?? []).slice(1).map(({ event: { type } }) => ({ type }));

describe.for(Object.keys(machines))("%s.js in plain XState 5", (name) => {
  test("goes through the plain run, in the states in which the plugin goes through it", async () => {
    const exported = await load(name);
    const run = await playPlainRun();
    expect(exported.plainRun.map(({ type }) => ({ type }))).toEqual(eventsIn(run, name));
    expect(exported.plainRun.length).toBeGreaterThanOrEqual(3);
    expect(simulate(exported, exported.plainRun)).toEqual(statesIn(run, name));
  });

  test("has all that it names: each guard answers, and each action does nothing", async () => {
    const { machine } = await load(name);
    const { guards, actions } = machine.implementations;
    const named = { guards: new Set<string>(), actions: new Set<string>() };
    JSON.stringify(machine.config, (key, value) => {
      if (key === "guard") named.guards.add(value.type);
      if (["entry", "exit", "actions"].includes(key))
        for (const action of [value].flat()) if (typeof action === "object") named.actions.add(action.type);
      return value;
    });
    expect(Object.keys(guards)).toEqual(expect.arrayContaining([...named.guards]));
    expect(Object.keys(actions).toSorted()).toEqual([...named.actions].toSorted());
  });
});

/** Plays a run on the whole plugin. Resolves to its task's journal without payloads, and to the states that it leads through. */
const play = async (act: (stage: ReturnType<typeof createStage>, taskId: string) => Promise<unknown>) => {
  const { inspect, steps } = createStepRecorder();
  const stage = createStage({ inspect });
  const taskId = await stage.launch();
  await stage.rest();
  await act(stage, taskId);
  await settled();
  const journal = stage.store.journal(taskId);
  const { snapshots } = walk(steps.task?.[0]?.event.input, journal);
  return { states: snapshots.map(({ value }) => value), journal: journal.map(({ type }) => ({ type })) };
};

describe("other runs than the plain one", () => {
  test("a task that is resumed goes through the states of its journal", async () => {
    const { states, journal } = await play(async (stage, id) => {
      await stage.finish(id, "12");
      await stage.finish(PARENT, "Thanks.");
      await stage.call("task", { resume: id, prompt: "And twice that?" });
      await settled();
      await stage.finish(id, "24");
    });
    expect(states).toContainEqual(expect.objectContaining({ lifecycle: "resumed" }));
    expect(states.at(-1)).toMatchObject({ lifecycle: "completed" });
    expect(simulate(await load("task"), journal)).toEqual(states);
  });

  test("a task that is cancelled ends as cancelled: what a region raises says how the run ended", async () => {
    const { states, journal } = await play((stage, id) => stage.call("cancel", { task_id: id }));
    expect(states.at(-1)).toMatchObject({ lifecycle: "cancelled", run: "idle" });
    expect(simulate(await load("task"), journal)).toEqual(states);
  });

  test("an event says what guards answer to it: a task with a gate is gated", async () => {
    const before = [{ type: "SLOT_GRANTED" }, { type: "PROMPT_ACCEPTED" }, { type: "HOST_IDLE" }];
    const task = await load("task");
    const gated = simulate(task, [...before, { type: "CHECKED_ANSWERED", guards: { hasGate: true } }]);
    expect(gated.at(-1)).toMatchObject({ lifecycle: "running", run: { active: { checking: "gating" } } });
    const ended = { type: "GATE_ENDED", guards: { hasPassed: true } };
    expect(
      simulate(task, [...before, { type: "CHECKED_ANSWERED", guards: { hasGate: true } }, ended]).at(-1),
    ).toMatchObject({ lifecycle: "completed", run: "idle", notice: "due" });
  });

  test("answers to a raised event can be changed: of a task that is waited for, no notice is due", async () => {
    const { answers } = await import(new URL("../../statecharts/task.js", import.meta.url).href);
    const task = await load("task");
    const ended = task.plainRun.slice(0, 4);
    answers.RUN_ENDED.waitedFor = true;
    const held = simulate(task, ended).at(-1);
    answers.RUN_ENDED.waitedFor = false;
    expect(held).toMatchObject({ lifecycle: "completed", notice: "held" });
    expect(simulate(task, ended).at(-1)).toMatchObject({ lifecycle: "completed", notice: "due" });
  });
});
