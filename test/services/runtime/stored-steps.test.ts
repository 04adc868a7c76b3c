import { expect, test } from "vitest";
import type { OutboxEvent } from "../../../src/machines/outbox/events.ts";
import type { TaskEvent } from "../../../src/machines/task/events.ts";
import { createEventBus } from "../../../src/services/platform/listeners.ts";
import type { EngineEvents } from "../../../src/services/runtime/effects.ts";
import { createProgressLog } from "../../../src/services/runtime/progress.ts";
import { createRuntime } from "../../../src/services/runtime/runtime.ts";
import type { Change } from "../../../src/services/store/store.ts";
import { noProgress } from "../../../src/task.ts";
import { createMemory } from "../../fakes/disk.ts";
import { createFakeEffects } from "../../fakes/effects.ts";
import { taskInput } from "../../fakes/task-input.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";
import { createRecordingLog } from "../store/folder-and-log.ts";
import { START, scriptTask } from "../store/scripted-task.ts";

const PARENT = "ses_parent";

/** A runtime, and all that it stores. */
const setUp = () => {
  const clock = createVirtualClock(START);
  const store = createMemory().boot(clock);
  const log = createRecordingLog();
  const progress = createProgressLog();
  const bus = createEventBus<EngineEvents>(log);
  const changes: Change[] = [];
  const runtime = createRuntime({ clock, store, log, progress, bus, effects: createFakeEffects(() => undefined) });
  const { commit } = store;
  store.commit = (change) => {
    changes.push(change);
    return commit(change);
  };
  const launch = (id: string) => {
    const { facts, run } = taskInput(id, {}, START);
    runtime.dispatch({ type: "LAUNCH", at: START, task: { facts, run } });
  };
  const send = (id: string, ...events: object[]) => {
    for (const event of events) runtime.send(id, { at: START, ...event } as TaskEvent);
  };
  const end = (id: string) =>
    send(
      id,
      { type: "PROMPT_ACCEPTED" },
      { type: "HOST_IDLE" },
      { type: "CHECKED_ANSWERED", checkId: 1, completedAt: START, result: "12" },
    );
  const tell = (...events: object[]) => {
    for (const event of events)
      runtime.dispatch({ type: "OUTBOX", id: PARENT, event: { at: START, ...event } as OutboxEvent });
  };
  const published: number[] = [];
  runtime.subscribe((task) => void published.push(task.progress.toolCalls));
  return { store, progress, runtime, changes, launch, send, end, tell, published, log };
};

const read = { type: "PARENT_READ", sender: { agent: "build", model: undefined }, othersRun: false };
const toasts = [{ message: "done", variant: "success" } as const];
const prompt = { messageID: "msg_n", parts: [], runs: [{ taskId: "ses_1", run: 0 }], toasts };

test("a task is stored and published with what is counted of it", () => {
  const { store, progress, launch, end, published } = setUp();
  launch("ses_1");
  progress.begin("ses_1", START);
  progress.onHostEvent({ type: "toolCall", sessionID: "ses_1", callID: "call_1", tool: "bash", stage: "begun" }, START);
  end("ses_1");
  expect(store.get("ses_1")?.task.progress.toolCalls).toBe(1);
  expect([published[0], published.at(-1)]).toEqual([0, 1]);
});

test("a task of which nothing is counted now keeps what is stored of it, and one that is new has done nothing", () => {
  const { store, launch, send } = setUp();
  const whole = scriptTask("ses_old").whole();
  const records = whole.records.map(({ task, snapshot }) => ({
    ...{ snapshot },
    task: { ...task, progress: { ...noProgress(task.startedAt), toolCalls: 3 } },
  }));
  store.commit({ ...whole, records });
  send("ses_old", { type: "RESULT_READ" });
  expect(store.get("ses_old")?.task).toMatchObject({
    resultRetrievedAt: expect.any(String),
    progress: { toolCalls: 3 },
  });
  launch("ses_1");
  const { startedAt = "" } = store.get("ses_1")?.task ?? {};
  expect(store.get("ses_1")?.task.progress).toEqual(noProgress(startedAt));
});

test("what is counted of a task is forgotten once it is at rest, or was removed", () => {
  const { progress, runtime, store, launch, end, tell } = setUp();
  for (const id of ["ses_1", "ses_2"]) {
    launch(id);
    progress.begin(id, START);
  }
  end("ses_1");
  expect(progress.of("ses_1")).toBeDefined();
  tell(read, { type: "COMPOSED", prompt }, { type: "PARENT_ANSWERED", promptID: "msg_n", createdAt: START });
  expect(progress.of("ses_1")).toBeUndefined();
  const task = store.get("ses_2")?.task;
  runtime.forget(task ? [task] : []);
  expect(progress.of("ses_2")).toBeUndefined();
});

test("nothing is stored for a step of an outbox that changes no prompt", () => {
  const { changes, launch, end, tell, log } = setUp();
  launch("ses_1");
  end("ses_1");
  changes.length = 0;
  tell({ type: "PARENT_BUSY" }, { type: "PARENT_IDLE" });
  expect(changes).toEqual([]);
  tell(read, { type: "COMPOSED", prompt });
  expect(changes.map(({ prompts }) => prompts)).toEqual([[{ parentSessionID: PARENT, prompts: [prompt] }]]);
  changes.length = 0;
  tell({ type: "SENT", messageID: "msg_n" });
  // Its toasts are shown once.
  const shown = { ...prompt, toasts: [] };
  expect(changes.map(({ prompts }) => prompts)).toEqual([[{ parentSessionID: PARENT, prompts: [shown] }]]);
  changes.length = 0;
  tell({ type: "PARENT_BUSY" });
  expect(changes).toEqual([]);
  tell({ type: "PARENT_ANSWERED", promptID: "msg_n", createdAt: START });
  expect(changes.flatMap(({ prompts }) => prompts)).toEqual([{ parentSessionID: PARENT, prompts: [] }]);
  expect(log.errors).toEqual([]);
});

test("a notice that was taken over is stored no more once it was read, though no task of it lives here", () => {
  const { runtime, changes, tell } = setUp();
  runtime.dispatch({ type: "ADOPT_PROMPTS", at: START, parentSessionID: PARENT, prompts: [{ ...prompt, toasts: [] }] });
  changes.length = 0;
  tell({ type: "CHECKED", messageID: "msg_n", standing: "answered" });
  expect(changes.map(({ prompts }) => prompts)).toEqual([[{ parentSessionID: PARENT, prompts: [] }]]);
});

test("the steps of one event are stored together, each task once, as it is after them", () => {
  const { changes, launch } = setUp();
  launch("ses_1");
  expect(changes).toHaveLength(1);
  expect(changes[0]?.records.map(({ task }) => task.state)).toEqual(["running.prompting.sending"]);
  expect(changes[0]?.journal).toMatchObject([{ taskId: "ses_1", event: { type: "SLOT_GRANTED" } }]);
});

test("an end that was owed is withdrawn with its task, and the parent's outbox goes with the last of them", () => {
  const { runtime, store, launch, end, tell, changes } = setUp();
  for (const id of ["ses_1", "ses_2"]) {
    launch(id);
    end(id);
  }
  const forget = (id: string) => {
    const task = store.get(id)?.task;
    runtime.forget(task ? [task] : []);
  };
  forget("ses_1");
  forget("ses_2");
  expect(runtime.concerns({ type: "deleted", sessionID: PARENT })).toBe(true);
  changes.length = 0;
  tell(read);
  expect(runtime.concerns({ type: "deleted", sessionID: PARENT })).toBe(false);
  expect(changes).toEqual([]);
});
