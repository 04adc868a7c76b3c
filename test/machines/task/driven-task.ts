import { initialTransition, transition } from "xstate";
import type { Recovery, TaskEffect, TaskEvent } from "../../../src/machines/task/events.ts";
import { type TaskSnapshot, taskMachine } from "../../../src/machines/task/machine.ts";
import type { TaskFacts } from "../../../src/task.ts";
import { START, taskInput } from "../../fakes/task-input.ts";
import { type Driven, drive } from "../drive.ts";

const fault = { name: "Unreachable", kind: "host", message: "connection refused" } as const;

const usual: { [Type in TaskEvent["type"]]?: Partial<Extract<TaskEvent, { type: Type }>> } = {
  PROMPT_REFUSED: { error: fault, retryable: true },
  HOST_RETRYING: { attempt: 1, message: "slow down", until: START + 60_000 },
  HOST_ERROR: { error: { name: "APIError", message: "401" } },
  CHECKED_ANSWERED: { completedAt: START, result: "12" },
  CHECKED_FAILED: { completedAt: START, error: fault },
  CHECKED_ABORTED: { completedAt: START },
  CHECK_FAILED: { error: fault },
  NOT_STOPPED: { error: fault },
  MODEL_CHANGED: { model: { providerID: "fake", modelID: "m2" } },
  JOB_REFUSED: { error: { name: "JobRefused", kind: "fleet", message: "no engine" }, retryable: true },
  REMOTE_CLAIMED: { claim: { epoch: START, seq: 1 }, server: { id: "srv_1", label: "one" } },
  REMOTE_HELD: { claim: { epoch: START, seq: 1 } },
  REMOTE_ENDED: { claim: { epoch: START, seq: 1 }, outcome: "completed", completedAt: START, result: "12" },
  LIMIT_EXCEEDED: { error: { name: "BudgetExceeded", kind: "budget", message: "used 41 of 40 tool calls" } },
  SUPERVISION_FAILED: { error: fault },
  RESUME: { messageID: "msg_2", partID: "prt_2", prompt: "more" },
  RETRY: {
    ...{ messageID: "msg_2", partID: "prt_2", prompt: "Go on." },
    budgetFrom: { toolCalls: 3, tokens: 100, cost: 0.5 },
  },
  NEXT_RUN_ASKED: { begins: "RESUME", messageID: "msg_2", partID: "prt_2", prompt: "more" },
  STEER: { messageID: "msg_3", partID: "prt_3", prompt: "Only the tests.", text: "Only the tests.", from: "agent" },
  INSTRUCTION_SEEN: { messageID: "msg_3" },
  STEERING_STORED: { messageID: "msg_3" },
  STEERING_REFUSED: { messageID: "msg_3", error: fault, retryable: true },
  ADOPTED: { recovery: "continue", isNoticePending: false },
  WAIT_BEGAN: { call: "call_1" },
  WAIT_ABANDONED: { call: "call_1" },
  WAIT_DELIVERED: { call: "call_1" },
  REQUEST_ASKED: { request: { id: "per_1", kind: "permission", what: "bash", since: START } },
  REQUEST_ANSWERED: { id: "per_1" },
};

/** A task's chart; an answer to a check is to the newest one. */
export type DrivenTask = Driven<TaskEvent, TaskSnapshot, TaskEffect>;

/**
 * A task that was launched, and waits for a slot.
 * @param isReceipt true where only the receipts that it wants written are returned: otherwise none is, for each end wants one
 */
export const queuedTask = (facts: Partial<TaskFacts> = {}, isReceipt = false): DrivenTask => {
  const [begin] = initialTransition(taskMachine, taskInput("ses_child", facts));
  return drive<TaskEvent, TaskSnapshot, TaskEffect>({
    begin,
    step: (before, event) => {
      const [after, actions] = transition(taskMachine, before, event);
      return {
        after,
        effects: actions
          .flatMap(({ type, params }) => (type === "emitEffect" ? [params as unknown as TaskEffect] : []))
          .filter(({ type }) => isReceipt === /Receipt$/.test(type)),
      };
    },
    usual: (type, { context: { checkId } }) => ({
      ...usual[type as TaskEvent["type"]],
      ...(type.startsWith("CHECK") ? { checkId } : {}),
    }),
  });
};

/** Has the run at work: its slot granted and its prompt taken by the host. */
const begin = (task: DrivenTask): DrivenTask => {
  task.take("SLOT_GRANTED");
  task.take("PROMPT_ACCEPTED");
  return task;
};

/** A task in its first run, at work. */
export const workingTask = (): DrivenTask => begin(queuedTask());

/** How the task of a test is offered to other servers. */
export const OFFER = { pool: "project", commit: "c0ffee", attempts: 2, patience: 900_000 };

/** Has these events happen one after the other, each as usual. */
export const afterEvents = (task: DrivenTask, ...types: TaskEvent["type"][]): DrivenTask => {
  for (const type of types) task.take(type);
  return task;
};

/** A task that was launched for other servers; its job is on its way to the broker, unless these events followed. */
export const offeredTask = (...types: TaskEvent["type"][]): DrivenTask =>
  afterEvents(queuedTask({ fleet: OFFER }), ...types);

/** A task that another server works on, unless these events followed. */
export const claimedTask = (...types: TaskEvent["type"][]): DrivenTask =>
  offeredTask("JOB_ENQUEUED", "REMOTE_CLAIMED", ...types);

/** A task that has ended with an answer, and whose end is owed to its parent. */
export const answeredTask = (): DrivenTask => afterEvents(workingTask(), "HOST_IDLE", "CHECKED_ANSWERED");

/** Has the run answered and its parent told, so that the task is at rest. */
export const completeAndTell = (task: DrivenTask, result = "12"): DrivenTask => {
  task.take("HOST_IDLE");
  task.take("CHECKED_ANSWERED", { result });
  task.take("NOTICE_COMPOSED");
  task.take("NOTICE_ACKNOWLEDGED");
  return task;
};

/** Resumes a task at rest, and has the new run at work. */
export const resume = (task: DrivenTask): DrivenTask => {
  task.take("RESUME");
  return begin(task);
};

/** Has the host asked how the run stands, if it is not being asked already; returns what is requested for it. */
export const check = (task: DrivenTask): TaskEffect[] => {
  if (task.snapshot.hasTag("working")) return task.take("HOST_IDLE");
  return task.snapshot.context.nextDeadline === undefined ? [] : task.take("TICK");
};

/** Has the host asked that often without an answer. */
export const failChecks = (task: DrivenTask, times: number): void => {
  for (let time = 0; time < times; time += 1) {
    check(task);
    task.take("CHECK_FAILED");
  }
};

/** The process dies, another one takes over, and the run turns out to be cut off. Returns what is requested then. */
export const cutOff = (task: DrivenTask, recovery: Recovery = "continue"): TaskEffect[] => {
  task.take("ADOPTED", { recovery });
  return task.take("CHECKED_UNANSWERED");
};

/** Has the prompt sent once more, because nobody works on it, and taken by the host. */
export const resend = (task: DrivenTask): void => {
  check(task);
  task.take("CHECKED_UNANSWERED");
  task.take("TICK");
  task.take("PROMPT_ACCEPTED");
};
