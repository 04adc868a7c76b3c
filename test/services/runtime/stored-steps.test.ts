import { expect, test } from "vitest";
import type { Change } from "../../../src/services/store/store.ts";
import { noProgress } from "../../../src/task.ts";
import { START, scriptTask } from "../store/scripted-task.ts";
import { PARENT, PARENT_READY, testRuntime } from "./test-runtime.ts";

/** A runtime, and all that it stores. */
const setUp = () => {
  const world = testRuntime();
  const { store, runtime, send, answer } = world;
  const changes: Change[] = [];
  const { commit } = store;
  store.commit = (change) => {
    changes.push(change);
    return commit(change);
  };
  const end = (id: string) => {
    send(id, { type: "PROMPT_ACCEPTED" });
    answer(id);
  };
  const published: number[] = [];
  runtime.subscribe((task) => void published.push(task.progress.toolCalls));
  return { ...world, changes, end, published };
};

const toasts = [{ message: "done", variant: "success" } as const];
const prompt = { messageID: "msg_n", parts: [], runs: [{ taskId: "ses_1", run: 0 }], toasts };

test("a task is stored and published with what is counted of it", () => {
  const { store, progress, launch, published, end } = setUp();
  launch("ses_1");
  progress.begin("ses_1", START);
  progress.onHostEvent({ type: "toolCall", sessionID: "ses_1", callID: "call_1", tool: "bash", stage: "begun" }, START);
  end("ses_1");
  expect(store.get("ses_1")?.task.progress.toolCalls).toBe(1);
  expect([published[0], published.at(-1)]).toEqual([0, 1]);
});

test("a task of which nothing is counted now keeps what is stored of it, and one that is new has done nothing", () => {
  const { store, send, launch } = setUp();
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
  const { store, progress, runtime, launch, inOutbox, end } = setUp();
  for (const id of ["ses_1", "ses_2"]) {
    launch(id);
    progress.begin(id, START);
  }
  end("ses_1");
  expect(progress.of("ses_1")).toBeDefined();
  inOutbox(
    PARENT_READY,
    { type: "COMPOSED", prompt },
    { type: "PARENT_ANSWERED", promptID: "msg_n", createdAt: START },
  );
  expect(progress.of("ses_1")).toBeUndefined();
  const task = store.get("ses_2")?.task;
  runtime.forget(task ? [task] : []);
  expect(progress.of("ses_2")).toBeUndefined();
});

test("nothing is stored for a step of an outbox that changes no prompt", () => {
  const { log, launch, inOutbox, changes, end } = setUp();
  launch("ses_1");
  end("ses_1");
  changes.length = 0;
  inOutbox({ type: "PARENT_BUSY" }, { type: "PARENT_IDLE" });
  expect(changes).toEqual([]);
  inOutbox(PARENT_READY, { type: "COMPOSED", prompt });
  expect(changes.map(({ prompts }) => prompts)).toEqual([[{ parentSessionID: PARENT, prompts: [prompt] }]]);
  changes.length = 0;
  inOutbox({ type: "SENT", messageID: "msg_n" });
  // Its toasts are shown once.
  const shown = { ...prompt, toasts: [] };
  expect(changes.map(({ prompts }) => prompts)).toEqual([[{ parentSessionID: PARENT, prompts: [shown] }]]);
  changes.length = 0;
  inOutbox({ type: "PARENT_BUSY" });
  expect(changes).toEqual([]);
  inOutbox({ type: "PARENT_ANSWERED", promptID: "msg_n", createdAt: START });
  expect(changes.flatMap(({ prompts }) => prompts)).toEqual([{ parentSessionID: PARENT, prompts: [] }]);
  expect(log.errors).toEqual([]);
});

test("a notice is stored once, not with each step of its outbox", () => {
  const { launch, inOutbox, changes, end } = setUp();
  launch("ses_1");
  end("ses_1");
  expect(changes.flatMap(({ prompts }) => prompts)).toEqual([]);
  inOutbox(PARENT_READY, { type: "COMPOSED", prompt: { ...prompt, toasts: [] } });
  changes.length = 0;
  inOutbox({ type: "SENT", messageID: "msg_n" });
  expect(changes).toEqual([]);
});

test("a notice that could not be stored is stored with the next step of its outbox", () => {
  const { store, log, launch, inOutbox, changes, end } = setUp();
  launch("ses_1");
  end("ses_1");
  inOutbox(PARENT_READY);
  const { commit } = store;
  store.commit = () => {
    throw new Error("disk I/O error");
  };
  const composed = { ...prompt, toasts: [] };
  inOutbox({ type: "COMPOSED", prompt: composed });
  expect(log.errors).toEqual(['a change could not be stored {"reason":"disk I/O error"}']);
  store.commit = commit;
  changes.length = 0;
  for (let time = 0; time < 2; time += 1)
    inOutbox({ type: "PARENT_ERROR", error: { name: "APIError", message: "401" } });
  expect(changes.map(({ prompts }) => prompts)).toEqual([[{ parentSessionID: PARENT, prompts: [composed] }]]);
});

test("a notice that was taken over is stored no more once it was read, though no task of it lives here", () => {
  const { runtime, inOutbox, changes } = setUp();
  runtime.dispatch({ type: "ADOPT_PROMPTS", at: START, parentSessionID: PARENT, prompts: [{ ...prompt, toasts: [] }] });
  changes.length = 0;
  inOutbox({ type: "CHECKED", messageID: "msg_n", standing: "answered" });
  expect(changes.map(({ prompts }) => prompts)).toEqual([[{ parentSessionID: PARENT, prompts: [] }]]);
});

test("the steps of one event are stored together, each task once, as it is after them", () => {
  const { launch, changes } = setUp();
  launch("ses_1");
  expect(changes).toHaveLength(1);
  expect(changes[0]?.records.map(({ task }) => task.state)).toEqual(["running.active.prompting.sending"]);
  expect(changes[0]?.journal).toMatchObject([{ taskId: "ses_1", event: { type: "SLOT_GRANTED" } }]);
});

test("an end that was owed is withdrawn with its task, and the parent's outbox goes with the last of them", () => {
  const { store, runtime, launch, inOutbox, changes, end } = setUp();
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
  inOutbox(PARENT_READY);
  expect(runtime.concerns({ type: "deleted", sessionID: PARENT })).toBe(false);
  expect(changes).toEqual([]);
});
