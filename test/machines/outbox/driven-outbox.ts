import { initialTransition, transition } from "xstate";
import type { NoticePrompt, OutboxEffect, OutboxEvent } from "../../../src/machines/outbox/events.ts";
import { type OutboxSnapshot, outboxMachine } from "../../../src/machines/outbox/machine.ts";
import type { RunResult } from "../../../src/machines/task/events.ts";
import { START } from "../../fakes/task-input.ts";
import { type Driven, drive } from "../drive.ts";

/** The end of a run, as an outbox is owed it. */
export const endOf = (taskId: string, run = 0, more: Partial<RunResult> = {}): RunResult => ({
  taskId,
  run,
  parentSessionID: "ses_parent",
  batchId: "b",
  description: "find it",
  outcome: "completed",
  startedAt: START,
  endedAt: START,
  result: "12",
  ...more,
});

/** A prompt that tells of the first runs of these tasks. */
export const promptOf = (messageID: string, ...taskIds: string[]): NoticePrompt => ({
  messageID,
  parts: [],
  runs: taskIds.map((taskId) => ({ taskId, run: 0 })),
  toasts: [],
});

const usual: { [Type in OutboxEvent["type"]]?: Partial<Extract<OutboxEvent, { type: Type }>> } = {
  PARENT_READ: { sender: { agent: "build", model: undefined }, othersRun: false },
  READ_FAILED: { message: "no" },
  SEND_REFUSED: { message: "no" },
  CHECKED: { storedAt: undefined, standing: "pending" },
  CHECK_FAILED: { message: "no" },
};

/** An outbox's chart; an answer to a call is to the prompt under way, and an answer of the parent's model too. */
export type DrivenOutbox = Driven<OutboxEvent, OutboxSnapshot, OutboxEffect>;

const TO_THE_PROMPT: ReadonlySet<string> = new Set<OutboxEvent["type"]>([
  "SENT",
  "SEND_REFUSED",
  "CHECKED",
  "CHECK_FAILED",
  "PARENT_STORED",
]);

/** An outbox that owes nothing yet. */
export const emptyOutbox = (): DrivenOutbox => {
  const [begin] = initialTransition(outboxMachine, { parentSessionID: "ses_parent" });
  return drive<OutboxEvent, OutboxSnapshot, OutboxEffect>({
    begin,
    step: (before, event) => {
      const [after, actions] = transition(outboxMachine, before, event);
      return {
        after,
        effects: actions.flatMap(({ type, params }) =>
          type === "emitEffect" ? [params as unknown as OutboxEffect] : [],
        ),
      };
    },
    usual: (type, { context: { prompt } }) => ({
      ...usual[type as OutboxEvent["type"]],
      ...(TO_THE_PROMPT.has(type) ? { messageID: prompt?.messageID } : {}),
    }),
  });
};

/** An outbox that owes the end of `ses_1`. */
export const owingOutbox = (): DrivenOutbox => {
  const outbox = emptyOutbox();
  outbox.take("NOTICE_DUE", { end: endOf("ses_1") });
  return outbox;
};

/** Has these events happen one after the other, each as usual. */
export const afterEvents = (outbox: DrivenOutbox, ...types: OutboxEvent["type"][]): DrivenOutbox => {
  for (const type of types) outbox.take(type);
  return outbox;
};

/** Has what is owed formed into a prompt with that id, and the host take it. */
export const send = (outbox: DrivenOutbox, messageID: string): DrivenOutbox => {
  outbox.take("PARENT_READ");
  const { queue } = outbox.snapshot.context;
  outbox.take("COMPOSED", { prompt: promptOf(messageID, ...queue.map(({ taskId }) => taskId)) });
  outbox.take("SENT");
  return outbox;
};

/** An outbox whose prompt `msg_1` was taken by the host; the parent has not begun to answer it. */
export const sentOutbox = (): DrivenOutbox => {
  return send(owingOutbox(), "msg_1");
};
