import { expect, test } from "vitest";
import { afterEvents, cutOff, queuedTask, workingTask } from "./driven-task.ts";

/** A task that has ended, and whose parent is not told yet. */
const ended = () => {
  const task = afterEvents(workingTask(), "CANCEL", "STOPPED");
  return task;
};

/** A task of which nothing was heard for a while. */
const staleTask = () => {
  const task = afterEvents(workingTask(), "BECAME_STALE");
  return task;
};

test("nothing that a run asked is open after its end, whether it was answered or not", () => {
  const answered = afterEvents(workingTask(), "REQUEST_ASKED", "REQUEST_ANSWERED");
  expect(answered.snapshot.context.userRequests).toEqual([]);
  const cancelled = afterEvents(workingTask(), "REQUEST_ASKED");
  afterEvents(cancelled, "CANCEL", "STOPPED");
  expect(cancelled.snapshot.value.attention).toBe("none");
  expect(cancelled.snapshot.context.userRequests).toEqual([]);
});

test("a request that comes after the end holds nothing up", () => {
  for (const kind of ["permission", "question"] as const) {
    const request = { id: "per_1", kind, what: "?", since: 0 };
    expect(workingTask().refuses("REQUEST_ASKED", { request }), kind).toBe(false);
    expect(ended().refuses("REQUEST_ASKED", { request }), kind).toBe(true);
  }
});

test("the silence of a task that has ended is nothing to report", () => {
  expect(workingTask().refuses("BECAME_STALE")).toBe(false);
  expect(ended().refuses("BECAME_STALE")).toBe(true);
});

test("the silence of a task in the queue is nothing to report", () => {
  expect(queuedTask().refuses("BECAME_STALE")).toBe(true);
});

test("neither a task that has ended nor one that was taken over says since when a child was silent", () => {
  for (const task of [afterEvents(staleTask(), "CANCEL", "STOPPED"), afterEvents(staleTask(), "ADOPTED")]) {
    expect(task.snapshot.value.attention).toBe("none");
    expect(task.snapshot.context.staleSince).toBeUndefined();
  }
});

test("when a request is answered, the oldest of the others is shown next", () => {
  const task = workingTask();
  const kinds = { per_1: "permission", que_1: "question", per_2: "permission" } as const;
  for (const [id, kind] of Object.entries(kinds))
    task.take("REQUEST_ASKED", { request: { id, kind, what: "?", since: 0 } });
  task.take("REQUEST_ANSWERED", { id: "per_1" });
  expect(task.snapshot.value.attention).toEqual({ awaitingUser: "question" });
  task.take("REQUEST_ANSWERED", { id: "que_1" });
  expect(task.snapshot.value.attention).toEqual({ awaitingUser: "permission" });
});

test("what a child asked is forgotten with the process that it asked in", () => {
  const task = afterEvents(workingTask(), "REQUEST_ASKED", "ADOPTED");
  expect(task.snapshot.value.attention).toBe("none");
  expect(task.snapshot.context.userRequests).toEqual([]);
});

const permission = { id: "per_1", kind: "permission", what: "rm -rf build", since: 0 } as const;

/** What a task wants sent after its process has ended while it asked these. */
const sentAfter = (...requests: { id: string; isFromBelow?: true }[]) => {
  const task = workingTask();
  for (const request of requests) task.take("REQUEST_ASKED", { request: { ...permission, ...request } });
  return { task, sent: cutOff(task) };
};

test("the step that asked a person is taken back before the run goes on in another process, and only that", () => {
  const [own, fromBelow] = [{ id: "per_1" }, { id: "per_2", isFromBelow: true } as const];
  const rows = [[own], [own, fromBelow], [fromBelow, own], [fromBelow], []];
  const isTakenBack = rows.map((requests) => {
    const { sent } = sentAfter(...requests);
    return sent.map((effect) => effect.type === "sendPrompt" && effect.redoesStep);
  });
  expect(isTakenBack).toEqual([[true], [true], [true], [undefined], [undefined]]);
});

test("it is taken back once: by the next process where this one ends before the prompt is stored, and not after that", () => {
  const unstored = sentAfter({ id: "per_1" }).task;
  expect(cutOff(unstored)).toEqual([expect.objectContaining({ type: "sendPrompt", redoesStep: true })]);
  const stored = afterEvents(sentAfter({ id: "per_1" }).task, "PROMPT_ACCEPTED");
  expect(cutOff(stored)).toEqual([expect.objectContaining({ type: "sendPrompt" })]);
  expect(stored.snapshot.context.redoesStep).toBeUndefined();
});

test("what was asked when its process ended is known until the run asks again, also after another end", () => {
  const { task } = sentAfter({ id: "per_1" });
  expect(task.snapshot.context.lostRequests).toEqual([permission]);
  cutOff(task);
  expect(task.snapshot.context.lostRequests).toEqual([permission]);
  afterEvents(task, "PROMPT_ACCEPTED", "CANCEL", "STOPPED");
  expect(task.snapshot.context.lostRequests).toBeUndefined();
});

test("a child is silent since it was last heard of, and no longer once it is heard", () => {
  const task = workingTask();
  task.take("BECAME_STALE", { at: 600_000 });
  expect(task.snapshot.context.staleSince).toBe(600_000);
  task.take("ACTIVITY_SEEN");
  expect(task.snapshot.context.staleSince).toBeUndefined();
});

test.for(["permission", "question"] as const)("a child that asks a %s waits for a person", (kind) => {
  for (const task of [workingTask(), staleTask()]) {
    task.take("REQUEST_ASKED", { request: { id: "req_1", kind, what: "?", since: 0 } });
    expect(task.snapshot.value.attention).toEqual({ awaitingUser: kind });
    expect(task.snapshot.context.staleSince).toBeUndefined();
  }
});

test("a request is noted once, though the host reports it twice", () => {
  const task = afterEvents(workingTask(), "REQUEST_ASKED");
  expect(task.refuses("REQUEST_ASKED")).toBe(true);
  task.take("REQUEST_ASKED", { request: { id: "per_2", kind: "permission", what: "ls", since: 1 } });
  expect(task.refuses("REQUEST_ASKED")).toBe(true);
  expect(task.snapshot.context.userRequests.map(({ id }) => id)).toEqual(["per_1", "per_2"]);
});

test("the answer to a request that nobody asked changes nothing, be one open or two", () => {
  const task = afterEvents(workingTask(), "REQUEST_ASKED");
  expect(task.refuses("REQUEST_ANSWERED", { id: "per_3" })).toBe(true);
  task.take("REQUEST_ASKED", { request: { id: "per_2", kind: "permission", what: "ls", since: 1 } });
  expect(task.refuses("REQUEST_ANSWERED", { id: "per_3" })).toBe(true);
});

test("a newer request does not push the oldest aside, whatever it asks", () => {
  const task = afterEvents(workingTask(), "REQUEST_ASKED");
  task.take("REQUEST_ASKED", { request: { id: "que_1", kind: "question", what: "Which?", since: 1 } });
  expect(task.snapshot.value.attention).toEqual({ awaitingUser: "permission" });
});

test("an answer out of turn leaves the oldest request shown", () => {
  const task = workingTask();
  const kinds = { per_1: "permission", que_1: "question", que_2: "question" } as const;
  for (const [id, kind] of Object.entries(kinds))
    task.take("REQUEST_ASKED", { request: { id, kind, what: "?", since: 0 } });
  task.take("REQUEST_ANSWERED", { id: "que_1" });
  expect(task.snapshot.value.attention).toEqual({ awaitingUser: "permission" });
  task.take("REQUEST_ANSWERED", { id: "per_1" });
  expect(task.snapshot.value.attention).toEqual({ awaitingUser: "question" });
  task.take("REQUEST_ANSWERED", { id: "que_2" });
  expect(task.snapshot.value.attention).toBe("none");
});
