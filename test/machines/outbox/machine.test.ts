import fc from "fast-check";
import { expect, test } from "vitest";
import { type AnyStateNode, initialTransition, transition } from "xstate";
import type { NoticePrompt, OutboxEffect, OutboxEvent } from "../../../src/machines/outbox/events.ts";
import { isIdle, type OutboxSnapshot, outboxMachine, pendingPrompts } from "../../../src/machines/outbox/machine.ts";
import { OUTBOX_LIMITS } from "../../../src/machines/outbox/setup.ts";
import type { RunResult } from "../../../src/machines/task/events.ts";
import { START } from "../../fakes/task-input.ts";
import { endOf } from "./driven-outbox.ts";

const GAP = 300;

/** Ends of tasks that wake with each end, and of such as do so with all. */
const FORMS: Partial<RunResult>[] = [{}, {}, { wake: "all" }, { wake: "all" }, { wake: "all", outcome: "error" }];

/** A prompt of a process that is gone, with an end of its own. */
const adoptedPrompt = (index: number): NoticePrompt => ({
  messageID: `msg_adopted_${String(index).padStart(3, "0")}`,
  parts: [],
  runs: [{ taskId: `ses_adopted_${index}`, run: 0 }],
  toasts: [{ message: `adopted ${index}`, variant: "info" }],
});

const SENDER = { agent: "build", model: undefined };

interface Step {
  event: OutboxEvent;
  before: OutboxSnapshot;
  after: OutboxSnapshot;
  effects: OutboxEffect[];
}

type Choose = (snapshot: OutboxSnapshot, at: number) => OutboxEvent;

/** Walks the machine; a request to form is answered at once, as the engine does. */
const walk = (chooses: Choose[]): Step[] => {
  let [snapshot] = initialTransition(outboxMachine, { parentSessionID: "ses_parent" });
  const steps: Step[] = [];
  let formed = 0;
  const take = (event: OutboxEvent) => {
    const before = snapshot;
    const [after, actions] = transition(outboxMachine, before, event);
    snapshot = after;
    const effects = actions.flatMap(({ type, params }) =>
      type === "emitEffect" ? [params as unknown as OutboxEffect] : [],
    );
    steps.push({ event, before, after, effects });
    for (const effect of effects) {
      if (effect.type !== "composeNotice") continue;
      formed += 1;
      const prompt: NoticePrompt = {
        messageID: `msg_${String(formed).padStart(3, "0")}`,
        parts: [],
        runs: effect.queue,
        toasts: [{ message: String(formed), variant: "info" }],
      };
      take({ type: "COMPOSED", at: event.at, prompt });
    }
  };
  for (const [index, choose] of chooses.entries()) take(choose(snapshot, START + index * GAP));
  return steps;
};

/** The answer that the outbox waits for: it leads to a turn that a person has stopped. */
const onwards: Choose = ({ context, value: { delivery } }, at) => {
  const messageID = context.prompt?.messageID ?? "msg_000";
  if (delivery === "sending") return { type: "SENT", at, messageID };
  if (delivery === "checking")
    return { type: "CHECKED", at, messageID, storedAt: 1, standing: "stopped", stoppedAt: at };
  if (delivery === "awaiting") return { type: "TICK", at: at + OUTBOX_LIMITS.longestBackoff };
  return { type: "PARENT_READ", at, sender: SENDER, othersRun: false };
};

/** Events with the id of the prompt under way, or of another; any of the kinds that the outside can bring. */
const KINDS: Choose[] = [
  (_, at) => ({ type: "PARENT_BUSY", at }),
  (_, at) => ({ type: "BATCHES_CHECKED", at, ended: [] }),
  (_, at) => ({ type: "BATCHES_CHECKED", at, ended: ["b"] }),
  (_, at) => ({ type: "PARENT_READ", at, sender: SENDER, othersRun: false }),
  (_, at) => ({ type: "PARENT_READ", at, sender: SENDER, othersRun: false }),
  (_, at) => ({ type: "PARENT_READ", at, sender: SENDER, othersRun: false }),
  (_, at) => ({ type: "PARENT_READ", at, sender: SENDER, othersRun: false, setAside: "reverted" }),
  (_, at) => ({ type: "PARENT_CHANGED", at }),
  (_, at) => ({ type: "READ_FAILED", at, message: "no" }),
  (_, at) => ({ type: "PARENT_IDLE", at }),
  (_, at) => ({ type: "PARENT_IDLE", at }),
  (_, at) => ({ type: "PARENT_ERROR", at }),
  (_, at) => ({ type: "TICK", at: at + OUTBOX_LIMITS.longestBackoff }),
  ({ context }, at) => ({ type: "SENT", at, messageID: context.prompt?.messageID ?? "msg_000" }),
  ({ context }, at) => ({ type: "SENT", at, messageID: context.prompt?.messageID ?? "msg_000" }),
  (_, at) => ({ type: "SENT", at, messageID: "msg_000" }),
  ...[true, false].map(
    (retryable): Choose =>
      ({ context }, at) => ({
        type: "SEND_REFUSED",
        at,
        messageID: context.prompt?.messageID ?? "msg_000",
        message: "no",
        retryable,
      }),
  ),
  (_, at) => ({ type: "PARENT_NOT_FOUND", at, message: "not found" }),
  (_, at) => ({ type: "PARENT_FOUND", at }),
  (_, at) => ({ type: "PARENT_PRESENT", at }),
  (_, at) => ({ type: "SEARCH_FAILED", at, message: "no" }),
  ({ context }, at) => ({ type: "CHECK_FAILED", at, messageID: context.prompt?.messageID ?? "msg_000", message: "no" }),
  ...(["answered", "pending", "unanswered", "stopped"] as const).map(
    (standing): Choose =>
      ({ context }, at) => ({
        type: "CHECKED",
        at,
        messageID: context.prompt?.messageID ?? "msg_000",
        storedAt: 1,
        standing,
      }),
  ),
  ({ context }, at) => ({
    type: "PARENT_ANSWERED",
    at,
    promptID: context.prompt?.messageID ?? "msg_000",
    createdAt: 1,
  }),
  (_, at) => ({ type: "PARENT_ANSWERED", at, promptID: "msg_000", createdAt: 1 }),
  ({ context }, at) => ({ type: "WITHDRAW", at, taskId: context.queue[0]?.taskId ?? "ses_x", run: 0 }),
];

/** One event in five owes a new end; one in a hundred or so deletes the parent. */
const choices = fc.array(
  fc.oneof(
    { weight: 30, arbitrary: fc.constant(() => onwards) },
    { weight: 80, arbitrary: fc.constantFrom(...KINDS).map((choose) => () => choose) },
    {
      weight: 20,
      arbitrary: fc.constantFrom(...FORMS).map(
        (form) =>
          (index: number): Choose =>
          (_, at) => ({ type: "NOTICE_DUE", at, end: endOf(`ses_${index}`, 0, form) }),
      ),
    },
    { weight: 1, arbitrary: fc.constant((): Choose => (_, at) => ({ type: "PARENT_CLOSED", at })) },
    {
      weight: 2,
      arbitrary: fc.constant(
        (index: number): Choose =>
          (_, at) => ({ type: "ADOPTED", at, prompts: [adoptedPrompt(index)] }),
      ),
    },
  ),
  { minLength: 5, maxLength: 60 },
);

const always = (name: string, check: (steps: Step[]) => void) =>
  test(name, () => {
    fc.assert(
      fc.property(choices, (made) => check(walk(made.map((make, index) => make(index))))),
      { numRuns: 150 },
    );
  });

test("the walks of these properties come to every state", () => {
  const seen = new Set<string>();
  for (const made of fc.sample(choices, { numRuns: 300, seed: 1 })) {
    for (const { after } of walk(made.map((make, index) => make(index)))) {
      seen.add(`delivery.${after.value.delivery}`).add(`parent.${after.value.parent}`);
    }
  }
  const atomic = (node: AnyStateNode): string[] =>
    node.type === "atomic" ? [node.path.join(".")] : Object.values(node.states).flatMap(atomic);
  // Passed through within one step.
  const passing = ["delivery.composing"];
  expect([...seen, ...passing].toSorted()).toEqual(expect.arrayContaining(atomic(outboxMachine.root)));
});

test("an end that is owed already, or on its way, is not owed once more", () => {
  const owe: Choose = (_, at) => ({ type: "NOTICE_DUE", at, end: endOf("ses_1") });
  const read: Choose = (_, at) => ({ type: "PARENT_READ", at, sender: SENDER, othersRun: false });
  const [twice, formed] = [walk([owe, owe]), walk([owe, read, owe])];
  expect(twice.at(-1)?.after.context.queue).toHaveLength(1);
  expect(formed.at(-1)?.after.context).toMatchObject({ queue: [], prompt: { runs: [{ taskId: "ses_1" }] } });
});

always("one prompt at a time: none is formed while another is under way", (steps) => {
  for (const { before, event } of steps) {
    if (event.type === "COMPOSED") expect(before.context.prompt).toBeUndefined();
  }
});

always(
  "what is owed is put into one prompt, or withdrawn, or still owed: nothing is lost, nothing is delivered twice",
  (steps) => {
    const owed = steps.flatMap(({ event, before }) =>
      event.type === "NOTICE_DUE" && before.value.delivery !== "closed" ? [event.end.taskId] : [],
    );
    const formed = steps.flatMap(({ event }) =>
      event.type === "COMPOSED" ? event.prompt.runs.map(({ taskId }) => taskId) : [],
    );
    const withdrawn = steps.flatMap(({ event, before, after }) =>
      event.type === "WITHDRAW" && before.context.queue.length > after.context.queue.length ? [event.taskId] : [],
    );
    const left = steps.at(-1)?.after.context.queue.map(({ taskId }) => taskId) ?? [];
    const closed = steps.some(({ event }) => event.type === "PARENT_CLOSED");
    expect(new Set(formed).size).toBe(formed.length);
    if (!closed) expect([...formed, ...withdrawn, ...left].toSorted()).toEqual(owed.toSorted());
  },
);

/** Every end that is queued is one of a batch whose tasks are still at work, as far as is known, and did not fail. */
const isHeld = ({ context: { queue } }: OutboxSnapshot) =>
  queue.every((held) => held.wake === "all" && held.outcome !== "error");

always("a prompt is composed when something wakes the parent, and carries all that is owed then", (steps) => {
  for (const { before, event, effects } of steps) {
    for (const effect of effects) if (effect.type === "composeNotice") expect(isHeld(before)).toBe(false);
    if (event.type === "COMPOSED") expect(event.prompt.runs).toHaveLength(before.context.queue.length);
  }
});

always("an end is held only as long as others of its batch are at work, and did not fail", (steps) => {
  for (const { after } of steps) if (after.value.delivery === "holding") expect(isHeld(after)).toBe(true);
});

always("an adopted prompt is told, or under way, or dropped with its parent: none is lost", (steps) => {
  const idsIn = (type: "noticeAcknowledged" | "noticeDropped") =>
    steps.flatMap(({ effects }) =>
      effects.flatMap((effect) => (effect.type === type ? effect.runs.map(({ taskId }) => taskId) : [])),
    );
  const last = steps.at(-1)?.after;
  const left = (last ? pendingPrompts(last) : []).flatMap(({ runs }) => runs.map(({ taskId }) => taskId));
  const adopted = steps.flatMap(({ event }) =>
    event.type === "ADOPTED" ? event.prompts.flatMap(({ runs }) => runs.map(({ taskId }) => taskId)) : [],
  );
  const accounted = [...idsIn("noticeAcknowledged"), ...idsIn("noticeDropped"), ...left];
  for (const taskId of adopted) expect(accounted.filter((id) => id === taskId)).toHaveLength(1);
});

always("a prompt is sent with the same ids every time", (steps) => {
  const sent = steps.flatMap(({ effects }) =>
    effects.flatMap((effect) => (effect.type === "sendNotice" ? [effect.prompt] : [])),
  );
  const formed = steps.flatMap(({ event }) =>
    event.type === "COMPOSED" ? [event.prompt] : event.type === "ADOPTED" ? event.prompts : [],
  );
  const wording = ({ toasts: _, ...words }: NoticePrompt) => words;
  for (const prompt of sent) expect(formed.map(wording)).toContainEqual(wording(prompt));
});

always("the person is shown a prompt once, when it has gone out", (steps) => {
  const shown = steps.flatMap(({ effects }) =>
    effects.flatMap((effect) => (effect.type === "showToasts" ? effect.toasts.map(({ message }) => message) : [])),
  );
  expect(new Set(shown).size).toBe(shown.length);
  const acknowledged = steps.flatMap(({ effects }) => effects.filter(({ type }) => type === "noticeAcknowledged"));
  expect(shown.length).toBeGreaterThanOrEqual(acknowledged.length);
});

always("nothing is begun while the parent is cooling down after an error", (steps) => {
  for (const { before, after, effects } of steps) {
    if (before.value.parent !== "coolingDown" || after.value.parent !== "coolingDown") continue;
    expect(effects.map(({ type }) => type)).not.toContain("composeNotice");
  }
});

always("a deadline is always kept: the tick that is due is accepted", (steps) => {
  for (const { after } of steps) {
    const { nextDeadline, parentReadyAt } = after.context;
    for (const at of [nextDeadline, parentReadyAt])
      if (at !== undefined) expect(after.can({ type: "TICK", at })).toBe(true);
  }
});

always("nothing is stuck: an outbox with something to tell waits for an answer or has a deadline", (steps) => {
  for (const { after } of steps) {
    if (isIdle(after)) continue;
    const asked = ["reading", "composing", "sending", "checking", "searching"].includes(String(after.value.delivery));
    const { nextDeadline, parentReadyAt } = after.context;
    expect(asked || nextDeadline !== undefined || parentReadyAt !== undefined).toBe(true);
  }
});
