import { expect, test } from "vitest";
import { run } from "../../../src/machines/task/run.ts";
import { TASK_LIMITS } from "../../../src/machines/task/setup.ts";
import { waitingOf } from "../../../src/machines/task/view.ts";
import type { Waiting } from "../../../src/task.ts";
import { START } from "../../fakes/task-input.ts";
import { afterEvents, type DrivenTask, queuedTask, workingTask } from "./driven-task.ts";

interface Described {
  meta?: { waitsFor?: string };
  states?: Readonly<Record<string, object>>;
}

/** The states that do not say what a run waits for in them, nor do those within them. */
const silentIn = (within: Readonly<Record<string, object>>): string[] =>
  Object.entries(within).flatMap(([name, state]) => {
    const { meta, states }: Described = state;
    if (meta?.waitsFor !== undefined) return [];
    return states ? silentIn(states) : name;
  });

test("each state of a run under way says in the chart what it waits for", () => {
  expect(silentIn(run.states)).toEqual(["idle"]);
});

const CASES: [string, (task: DrivenTask) => void, Waiting["for"]][] = [
  ["in the queue", () => undefined, "slot"],
  ["while its prompt is sent", (task) => task.take("SLOT_GRANTED"), "acceptance"],
  ["while its agent works", (task) => begin(task), "agent"],
  ["while the host is asked", (task) => begin(task) && task.take("HOST_IDLE"), "check"],
  ["while a person is asked", (task) => begin(task) && task.take("REQUEST_ASKED"), "person"],
  ["while it is stopped", (task) => begin(task) && task.take("CANCEL"), "stop"],
  ["after a takeover", (task) => begin(task) && task.take("ADOPTED"), "recovery"],
];

const begin = (task: DrivenTask) => [task.take("SLOT_GRANTED"), task.take("PROMPT_ACCEPTED")];

test.each(CASES)("%s a task waits for the one who ends that", (_, lead, what) => {
  const task = queuedTask();
  lead(task);
  expect(waitingOf(task.snapshot)).toStrictEqual({ for: what, since: new Date(START).toISOString() });
});

test("a prompt that was refused is sent again at a time that is known", () => {
  const task = afterEvents(queuedTask(), "SLOT_GRANTED", "PROMPT_REFUSED");
  const until = new Date(START + TASK_LIMITS.firstBackoff).toISOString();
  expect(waitingOf(task.snapshot)).toMatchObject({ for: "retry", until });
});

test("a session that is not found is waited for since it was missed, and asked for again at a time that is known", () => {
  const task = workingTask();
  task.take("HOST_IDLE", { at: START + 5 });
  task.take("CHECKED_NOT_FOUND");
  const [since, until] = [START + 5, START + 5 + TASK_LIMITS.recheckAfter].map((at) => new Date(at).toISOString());
  expect(waitingOf(task.snapshot)).toEqual({ for: "session", since, until });
});

test("a run that was aborted is waited for since then, until it is known whether a person did that", () => {
  const task = workingTask();
  task.take("HOST_IDLE", { at: START + 5 });
  task.take("CHECKED_ABORTED", { completedAt: START + 3 });
  const [since, until] = [START + 3, START + 5 + TASK_LIMITS.cancelAfterAbort].map((at) => new Date(at).toISOString());
  expect(waitingOf(task.snapshot)).toEqual({ for: "abort", since, until });
});

test("a provider that refuses for now is waited for since it first did, until the host asks again", () => {
  const task = queuedTask({ model: { providerID: "fake", modelID: "m1" } });
  begin(task);
  task.take("HOST_RETRYING", { at: START + 5, attempt: 1, message: "slow down", until: START + 10 });
  task.take("HOST_BUSY", { at: START + 10 });
  task.take("HOST_RETRYING", { at: START + 12, attempt: 2, message: "slow down!", until: START + 20 });
  const [since, until] = [START + 5, START + 20].map((at) => new Date(at).toISOString());
  const refusal = { provider: "fake", attempt: 2, message: "slow down!" };
  expect(waitingOf(task.snapshot)).toEqual({ for: "provider", since, until, refusal });
});

const LATER = START + 65_000;

const MOMENTS: [string, (task: DrivenTask) => void, Waiting["for"]][] = [
  ["a check", (task) => task.take("HOST_IDLE", { at: LATER }), "check"],
  [
    "its own tasks, when its turn ends",
    (task) => task.take("HOST_IDLE") && task.take("CHECKED_AWAITING_TASKS", { at: LATER }),
    "tasks",
  ],
  [
    "its own tasks, in a tool call",
    (task) => task.take("CALL_BLOCKED", { at: LATER, call: "call_1", taskIds: ["ses_own"] }),
    "tasks",
  ],
  ["its stop", (task) => task.take("CANCEL", { at: LATER }), "stop"],
  ["the host after a takeover", (task) => task.take("ADOPTED", { at: LATER }), "recovery"],
  [
    "a pause before its prompt is sent again",
    (task) => task.take("HOST_IDLE") && task.take("CHECKED_UNANSWERED", { at: LATER }),
    "retry",
  ],
  [
    "the host to take its prompt again",
    (task) => task.take("HOST_IDLE") && task.take("CHECKED_UNANSWERED") && task.take("TICK", { at: LATER }),
    "acceptance",
  ],
  [
    "its next model",
    (task) => task.take("HOST_IDLE") && task.take("CHECKED_FAILED", { at: LATER, error: REFUSED }),
    "model",
  ],
];

const REFUSED = { name: "APIError", kind: "provider", message: "no credit", refusal: "quota" } as const;
const FALLBACK = { models: [{ providerID: "fake", modelID: "m2" }], after: 60_000 };

test.each(MOMENTS)(
  "%s is waited for since that began, and of an older version's snapshot since the run did",
  (_, lead, what) => {
    const task = queuedTask({ fallback: FALLBACK });
    begin(task);
    lead(task);
    expect(waitingOf(task.snapshot)).toMatchObject({ for: what, since: new Date(LATER).toISOString() });
    const { value, context } = task.snapshot;
    const { waitingSince: _since, blockedCalls, ...older } = context;
    const calls = blockedCalls?.map(({ call, taskIds }) => ({ call, taskIds }));
    const stored = { value, context: { ...older, ...(calls ? { blockedCalls: calls } : {}) } };
    expect(waitingOf(stored)).toMatchObject({ for: what, since: new Date(START).toISOString() });
  },
);

test("an agent is waited for since it may work: not while its run queued", () => {
  const task = queuedTask();
  task.take("SLOT_GRANTED", { at: LATER });
  task.take("PROMPT_ACCEPTED");
  expect(waitingOf(task.snapshot)).toEqual({ for: "agent", since: new Date(LATER).toISOString() });
});

test("a request is waited for since it was asked", () => {
  const task = workingTask();
  task.take("REQUEST_ASKED", { request: { id: "per_1", kind: "permission", what: "bash", since: START + 7 } });
  expect(waitingOf(task.snapshot)?.since).toBe(new Date(START + 7).toISOString());
});

test("tool calls that wait say for how many tasks in all", () => {
  const task = workingTask();
  task.take("CALL_BLOCKED", { call: "call_1", taskIds: ["ses_a", "ses_b"] });
  task.take("CALL_BLOCKED", { call: "call_2", taskIds: ["ses_b", "ses_c"] });
  expect(waitingOf(task.snapshot)).toMatchObject({ for: "tasks", tasks: 3 });
  task.take("OWN_TASK_ENDED", { taskId: "ses_b" });
  expect(waitingOf(task.snapshot)).toMatchObject({ for: "tasks", tasks: 2 });
});

test("a run that has ended waits for nothing", () => {
  const task = afterEvents(workingTask(), "HOST_IDLE", "CHECKED_ANSWERED");
  expect(waitingOf(task.snapshot)).toBeUndefined();
});

test("a state that another version of the chart has says nothing, and does no harm", () => {
  const { value, context } = workingTask().snapshot;
  expect(waitingOf({ value: { ...value, run: "unheardOf" as never }, context })).toBeUndefined();
});

test("a run that is at work again waits for no provider, though it was refused before", () => {
  const task = afterEvents(workingTask(), "HOST_RETRYING", "HOST_BUSY");
  expect(waitingOf(task.snapshot)).toStrictEqual({ for: "agent", since: new Date(START).toISOString() });
});

test("a child that asks a person waits for that alone: not for the tasks of its tool call, nor until a check is due", () => {
  const task = afterEvents(workingTask(), "HOST_ERROR");
  task.take("CALL_BLOCKED", { call: "call_1", taskIds: ["ses_a"] });
  task.take("REQUEST_ASKED");
  expect(waitingOf(task.snapshot)).toStrictEqual({ for: "person", since: new Date(START).toISOString() });
});
