import { expect, test } from "vitest";
import { statePath } from "../../../src/machines/chart.ts";
import { createStage } from "../../fakes/stage.ts";
import { START } from "../store/scripted-task.ts";
import { composeNotice, PARENT, PARENT_READY, testRuntime } from "./test-runtime.ts";

/** A runtime with a task whose prompt is being sent. */
const setUp = () => {
  const world = testRuntime({ perform: composeNotice });
  const { send, launch, answer, inOutbox } = world;
  launch();
  const end = () => {
    send("ses_1", { type: "PROMPT_ACCEPTED" });
    answer("ses_1");
  };
  const acknowledge = () => inOutbox(PARENT_READY, { type: "PARENT_ANSWERED", promptID: "msg_n", createdAt: START });
  return { ...world, end, acknowledge };
};

test("a task and its parent's outbox are reaped once it has ended and its end was delivered, and not before", () => {
  const { runtime, end, acknowledge } = setUp();
  end();
  expect(runtime.snapshotOf("ses_1")).toBeDefined();
  acknowledge();
  expect(runtime.snapshotOf("ses_1")).toBeUndefined();
  expect(runtime.liveTasks()).toEqual([]);
  expect(runtime.concerns({ type: "deleted", sessionID: PARENT })).toBe(false);
});

test("subagents-and-subtasks › Primary Invariants › one live actor per task id, whatever is called twice", () => {
  const { store, runtime, asked, begun, send, launch } = setUp();
  launch();
  const record = store.get("ses_1");
  if (!record) throw new Error("it is not stored");
  for (let time = 0; time < 2; time += 1) expect(runtime.restore(record)).toBe(true);
  launch();
  send("ses_1", { type: "PROMPT_ACCEPTED" });
  expect(begun.filter((id) => id === "ses_1")).toHaveLength(1);
  expect(asked.filter((effect) => effect === "sendPrompt")).toHaveLength(1);
  expect(store.journal("ses_1").map(({ type }) => type)).toEqual(["SLOT_GRANTED", "PROMPT_ACCEPTED"]);
  expect(statePath(runtime.snapshotOf("ses_1")?.value.run)).toBe("active.working.busy");
});

test("an event for a reaped task brings it back, is stored, and lets it go again", () => {
  const { store, runtime, send, end, acknowledge } = setUp();
  end();
  acknowledge();
  send("ses_1", { type: "RESULT_READ", at: START + 5 });
  expect(store.get("ses_1")?.task.resultRetrievedAt).toBe(new Date(START + 5).toISOString());
  expect(runtime.snapshotOf("ses_1")).toBeUndefined();
  send("ses_1", { type: "STOPPED" });
  expect(runtime.snapshotOf("ses_1")).toBeUndefined();
  expect(runtime.concerns({ type: "deleted", sessionID: PARENT })).toBe(false);
});

test("what an effect asks for is stored before it is done", () => {
  const { store, send } = setUp();
  const seen: unknown[] = [];
  const { commit } = store;
  store.commit = (change) => {
    const lost = commit(change);
    seen.push(store.get("ses_1")?.task.state);
    return lost;
  };
  send("ses_1", { type: "PROMPT_ACCEPTED" });
  expect(seen).toEqual(["running.active.working.busy"]);
});

test("at rest, nothing ticks", async () => {
  const stage = createStage();
  const id = await stage.launch();
  stage.host.finish(id, "12");
  await stage.clock.advance(1_500);
  const before = stage.clock.pending();
  await stage.clock.advance(3_600_000);
  // Seven watches: for silence, missed events, lost processes, requests, progress, outdated tasks, and providers that refuse. No alarm.
  expect(before).toBe(7);
  expect(stage.clock.pending()).toBe(7);
});

test("a step that the store refuses, since another process has the task, is neither carried out nor published", () => {
  const { store, runtime, asked, send } = setUp();
  send("ses_1", { type: "PROMPT_ACCEPTED" });
  const told: string[] = [];
  runtime.subscribe(({ state }) => void told.push(state));
  const before = [...asked];
  store.commit = () => ["ses_1"];
  send("ses_1", { type: "HOST_IDLE" });
  expect(asked).toEqual(before);
  expect(told).toEqual([]);
  expect(runtime.snapshotOf("ses_1")).toBeUndefined();
});

/** How many observations XState makes while a runtime with so many live tasks is stopped. */
const observedAtStop = (live: number): number => {
  let observations = 0;
  const { runtime, launch } = testRuntime({
    inspect: () => {
      observations += 1;
    },
  });
  for (let index = 0; index < live; index += 1) {
    launch(`ses_${index}`);
  }
  observations = 0;
  runtime.stop();
  return observations;
};

test("a stop is the same work however many tasks live: they are let go, not stopped one by one", () => {
  expect(observedAtStop(1)).toBeGreaterThan(0);
  expect(observedAtStop(100)).toBe(observedAtStop(1));
});

test("once stopped, nothing reaches the charts: no effect, no step, no alarm", async () => {
  const { clock, store, runtime, asked, send, launch } = setUp();
  send("ses_1", { type: "PROMPT_ACCEPTED" });
  send("ses_1", { type: "HOST_ERROR", error: { name: "APIError", message: "401" } });
  expect(clock.pending()).toBe(1);
  const before = { asked: [...asked], record: store.get("ses_1") };
  runtime.stop();
  expect(clock.pending()).toBe(0);
  launch("ses_2");
  runtime.dispatch({ type: "HOST", at: START, event: { type: "idle", sessionID: "ses_1" } });
  send("ses_1", { type: "CANCEL" });
  await clock.advance(3_600_000);
  expect({ asked, record: store.get("ses_1") }).toEqual(before);
  expect(store.get("ses_2")).toBeUndefined();
});
