import { expect, test } from "vitest";
import type { NoticePrompt } from "../../../src/machines/outbox/events.ts";
import { createEventBus } from "../../../src/services/platform/listeners.ts";
import { createProgressLog } from "../../../src/services/runtime/progress.ts";
import { createRuntime } from "../../../src/services/runtime/runtime.ts";
import { createMemory } from "../../fakes/disk.ts";
import { createFakeEffects } from "../../fakes/effects.ts";
import { innermost } from "../../fakes/innermost.ts";
import { createStage } from "../../fakes/stage.ts";
import { taskInput } from "../../fakes/task-input.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";

/** `forms` says what each request to form is answered with; by default a prompt. */
const setUp = (forms: (NoticePrompt | null)[] = []) => {
  const clock = createVirtualClock();
  const store = createMemory().boot(clock);
  const logged: string[] = [];
  const log = { info: (message: string) => logged.push(message), error: (message: string) => logged.push(message) };
  const asked: string[] = [];
  const actors: string[] = [];
  const runtime = createRuntime({
    inspect: (event) => {
      if (event.type === "@xstate.actor") actors.push(String(Reflect.get(event.actorRef, "id")));
    },
    clock,
    store,
    progress: createProgressLog(),
    bus: createEventBus(log),
    log,
    effects: createFakeEffects((effect) => {
      asked.push(effect.type);
      if (effect.type !== "composeNotice") return undefined;
      const runs = effect.queue.map(({ taskId, run }) => ({ taskId, run }));
      const formed: NoticePrompt = { messageID: "msg_n", parts: [], runs, toasts: [] };
      const prompt = forms.length > 0 ? (forms.shift() as NoticePrompt) : formed;
      return { type: "OUTBOX", id: effect.parentSessionID, event: { type: "COMPOSED", at: clock.now(), prompt } };
    }),
  });
  const at = clock.now();
  const { facts, run } = taskInput("ses_1", {}, at);
  runtime.dispatch({ type: "LAUNCH", at, task: { facts, run } });
  const end = () => {
    runtime.send("ses_1", { type: "PROMPT_ACCEPTED", at });
    runtime.send("ses_1", { type: "HOST_IDLE", at });
    runtime.send("ses_1", { type: "CHECKED_ANSWERED", at, checkId: 1, completedAt: at, result: "12" });
  };
  const acknowledge = () => {
    const sender = { agent: "build", model: undefined };
    runtime.dispatch({
      type: "OUTBOX",
      id: "ses_parent",
      event: { type: "PARENT_READ", at, sender, othersRun: false },
    });
    runtime.dispatch({
      type: "OUTBOX",
      id: "ses_parent",
      event: { type: "PARENT_ANSWERED", at, promptID: "msg_n", createdAt: at },
    });
  };
  return { clock, store, runtime, asked, actors, logged, facts, run, at, end, acknowledge };
};

test("a task and its parent's outbox are reaped once it has ended and its end was delivered, and not before", () => {
  const { runtime, end, acknowledge } = setUp();
  end();
  expect(runtime.snapshotOf("ses_1")).toBeDefined();
  acknowledge();
  expect(runtime.snapshotOf("ses_1")).toBeUndefined();
  expect(runtime.liveTasks()).toEqual([]);
  expect(runtime.concerns({ type: "deleted", sessionID: "ses_parent" })).toBe(false);
});

test("subagents-and-subtasks › Primary Invariants › one live actor per task id, whatever is called twice", () => {
  const { runtime, store, asked, actors, facts, run, at } = setUp();
  runtime.dispatch({ type: "LAUNCH", at, task: { facts, run } });
  const record = store.get("ses_1");
  if (!record) throw new Error("it is not stored");
  for (let time = 0; time < 2; time += 1) runtime.restore(record);
  runtime.dispatch({ type: "LAUNCH", at, task: { facts, run } });
  runtime.send("ses_1", { type: "PROMPT_ACCEPTED", at });
  expect(actors.filter((id) => id === "ses_1")).toHaveLength(1);
  expect(asked.filter((effect) => effect === "sendPrompt")).toHaveLength(1);
  expect(store.journal("ses_1").map(({ type }) => type)).toEqual(["SLOT_GRANTED", "PROMPT_ACCEPTED"]);
  expect(innermost(runtime.snapshotOf("ses_1")?.value.run)).toBe("busy");
});

test("an event for a reaped task brings it back, is stored, and lets it go again", () => {
  const { runtime, store, at, end, acknowledge } = setUp();
  end();
  acknowledge();
  runtime.send("ses_1", { type: "RESULT_READ", at: at + 5 });
  expect(store.get("ses_1")?.task.resultRetrievedAt).toBe(new Date(at + 5).toISOString());
  expect(runtime.snapshotOf("ses_1")).toBeUndefined();
  runtime.send("ses_1", { type: "STOPPED", at });
  expect(runtime.snapshotOf("ses_1")).toBeUndefined();
  expect(runtime.concerns({ type: "deleted", sessionID: "ses_parent" })).toBe(false);
});

test("what an effect asks for is stored before it is done", () => {
  const { runtime, store, at } = setUp();
  const seen: unknown[] = [];
  const { commit } = store;
  store.commit = (change) => {
    const lost = commit(change);
    seen.push(store.get("ses_1")?.task.state);
    return lost;
  };
  runtime.send("ses_1", { type: "PROMPT_ACCEPTED", at });
  expect(seen).toEqual(["running.working.busy"]);
});

test("at rest, nothing ticks", async () => {
  const stage = createStage();
  const id = await stage.launch();
  stage.host.finish(id, "12");
  await stage.clock.advance(1_500);
  const before = stage.clock.pending();
  await stage.clock.advance(3_600_000);
  // Six watches: for silence, missed events, lost processes, requests, progress and outdated tasks. No alarm.
  expect(before).toBe(6);
  expect(stage.clock.pending()).toBe(6);
});

test("a step that the store refuses, since another process has the task, is neither carried out nor published", () => {
  const { runtime, store, asked, at } = setUp();
  runtime.send("ses_1", { type: "PROMPT_ACCEPTED", at });
  const told: string[] = [];
  runtime.subscribe(({ state }) => void told.push(state));
  const before = [...asked];
  store.commit = () => ["ses_1"];
  runtime.send("ses_1", { type: "HOST_IDLE", at });
  expect(asked).toEqual(before);
  expect(told).toEqual([]);
  expect(runtime.snapshotOf("ses_1")).toBeUndefined();
});

/** How many observations XState makes while a runtime with so many live tasks is stopped. */
const observedAtStop = (live: number): number => {
  const clock = createVirtualClock();
  const log = { info: () => undefined, error: () => undefined };
  let observations = 0;
  const runtime = createRuntime({
    inspect: () => {
      observations += 1;
    },
    clock,
    store: createMemory().boot(clock),
    progress: createProgressLog(),
    bus: createEventBus(log),
    log,
    effects: createFakeEffects(() => undefined),
  });
  for (let index = 0; index < live; index += 1) {
    runtime.dispatch({ type: "LAUNCH", at: clock.now(), task: taskInput(`ses_${index}`) });
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
  const { runtime, store, clock, asked, at } = setUp();
  runtime.send("ses_1", { type: "PROMPT_ACCEPTED", at });
  runtime.send("ses_1", { type: "HOST_ERROR", at, error: { name: "APIError", message: "401" } });
  expect(clock.pending()).toBe(1);
  const before = { asked: [...asked], record: store.get("ses_1") };
  runtime.stop();
  expect(clock.pending()).toBe(0);
  const { facts, run } = taskInput("ses_2", {}, at);
  runtime.dispatch({ type: "LAUNCH", at, task: { facts, run } });
  runtime.dispatch({ type: "HOST", at, event: { type: "idle", sessionID: "ses_1" } });
  runtime.send("ses_1", { type: "CANCEL", at });
  await clock.advance(3_600_000);
  expect({ asked, record: store.get("ses_1") }).toEqual(before);
  expect(store.get("ses_2")).toBeUndefined();
});
