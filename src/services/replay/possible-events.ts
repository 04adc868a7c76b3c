import type { TaskContext, TaskEvent } from "../../machines/task/events.ts";
import type { TaskSnapshot } from "../../machines/task/machine.ts";
import { type ReplayStep, tryEvent } from "../../machines/task/replay.ts";
import { isSameModel, type TaskError } from "../../task.ts";

/** An event that the chart would take, and what it would lead to. */
export interface PossibleEvent {
  /** Which event of that name, where several of it lead to different ends, such as `retryable`; empty otherwise. */
  which: string;
  step: ReplayStep;
}

type OfType<Type extends TaskEvent["type"]> = Extract<TaskEvent, { type: Type }>;

/** What an event of that name brings beside its name and its time. */
type Brings<Type extends TaskEvent["type"]> = Omit<OfType<Type>, "type" | "at"> & Pick<Partial<OfType<Type>>, "at">;

/** Events of one name that may come next, by what distinguishes them. */
type Examples<Type extends TaskEvent["type"]> = (context: TaskContext, at: number) => Record<string, Brings<Type>>;

/** Stands for a text that nobody knows yet. */
const TEXT = "…";
const MESSAGE = { messageID: "msg_…", partID: "prt_…", prompt: TEXT };
const errorOf = (kind: TaskError["kind"]): TaskError => ({ name: "Error", kind, message: TEXT });

const plain = () => ({ "": {} });
/** Never comes from outside. */
const none = () => ({});
const ofCheck = ({ checkId }: TaskContext) => ({ "": { checkId } });
const ofWaiters = ({ waiters }: TaskContext) => Object.fromEntries(waiters.map((call) => [call, { call }]));
const oldestInstruction = ({ instructions }: TaskContext): string => instructions?.[0]?.messageID ?? "";

/** The next model of the task's fallback, or any other one. */
const otherModel = ({ facts, model, refusedModels = [] }: TaskContext) =>
  facts.fallback?.models.find(
    (each) => !isSameModel(each, model) && !refusedModels.some((refused) => isSameModel(each, refused.model)),
  ) ?? { providerID: TEXT, modelID: TEXT };

/**
 * Of each event, those that may come next. What the chart would refuse is left out later, so that nothing here says what is
 * allowed in which state.
 */
const EXAMPLES: { readonly [Type in TaskEvent["type"]]: Examples<Type> } = {
  SLOT_GRANTED: plain,
  PROMPT_ACCEPTED: plain,
  PROMPT_REFUSED: () => ({
    "for now": { error: errorOf("host"), retryable: true },
    "for good": { error: errorOf("host"), retryable: false },
  }),
  HOST_BUSY: plain,
  HOST_RETRYING: (_, at) => ({ "": { attempt: 1, message: TEXT, until: at + 60_000 } }),
  HOST_ANSWERING: plain,
  HOST_IDLE: plain,
  STEPS_WITHOUT_END: plain,
  HOST_ERROR: () => ({
    "": { error: { name: "UnknownError", message: TEXT } },
    "of an abort": { error: { name: "MessageAbortedError", message: TEXT } },
  }),
  SESSION_NOT_FOUND: plain,
  SESSION_DELETED: plain,
  CHECKED_BUSY: ofCheck,
  CHECKED_AWAITING_TASKS: ofCheck,
  CHECKED_ANSWERED: ({ checkId, facts }, at) => ({
    "": { checkId, completedAt: at, result: TEXT },
    ...(facts.schema
      ? {
          "that does not fit": {
            checkId,
            completedAt: at,
            result: TEXT,
            misfit: { ...MESSAGE, error: errorOf("schema") },
          },
        }
      : {}),
  }),
  CHECKED_FAILED: ({ checkId }, at) => ({
    "": { checkId, completedAt: at, error: errorOf("provider") },
    "as its model is refused": { checkId, completedAt: at, error: { ...errorOf("provider"), refusal: "overloaded" } },
  }),
  CHECKED_HOST_FAULT: ({ checkId }) => ({ "": { checkId, error: errorOf("host") } }),
  CHECKED_ABORTED: ({ checkId }, at) => ({ "": { checkId, completedAt: at } }),
  CHECKED_UNANSWERED: ofCheck,
  CHECKED_UNSEEN: ofCheck,
  CHECKED_NOT_FOUND: ofCheck,
  CHECK_FAILED: ({ checkId }) => ({ "": { checkId, error: errorOf("host") } }),
  GATE_ENDED: ({ gate }) => ({
    passed: { gateRun: gate?.runs ?? 0, end: { exit: 0, end: "exited", output: "" }, ...MESSAGE },
    failed: { gateRun: gate?.runs ?? 0, end: { exit: 1, end: "exited", output: "" }, ...MESSAGE },
  }),
  GATE_ENDED_BEFORE: () => ({
    passed: { end: { exit: 0, end: "exited" } },
    failed: { end: { exit: 1, end: "exited" } },
  }),
  CALL_BLOCKED: () => ({ "": { call: TEXT, taskIds: [TEXT] } }),
  CALL_RETURNED: ({ blockedCalls = [] }) => Object.fromEntries(blockedCalls.map(({ call }) => [call, { call }])),
  OWN_TASK_ENDED: ({ blockedCalls = [] }) => {
    const known = [...new Set(blockedCalls.flatMap(({ taskIds }) => taskIds))];
    return Object.fromEntries((known.length > 0 ? known : [TEXT]).map((taskId) => [taskId, { taskId }]));
  },
  CANCEL: plain,
  PAUSE: () => ({ "by a person": { by: "person" }, "by the agent": { by: "agent" } }),
  CONTINUE: plain,
  STOPPED: plain,
  NOT_STOPPED: () => ({ "": { error: errorOf("host") } }),
  MODEL_CHANGED: (context) => ({ "": { model: otherModel(context) } }),
  JOB_ENQUEUED: plain,
  JOB_REFUSED: () => ({
    "for now": { error: errorOf("fleet"), retryable: true },
    "for good": { error: errorOf("fleet"), retryable: false },
  }),
  REMOTE_CLAIMED: ({ remote }, at) => {
    const { epoch, seq } = remote?.claim ?? { epoch: at, seq: 0 };
    return { "": { claim: { epoch, seq: seq + 1 }, server: { id: TEXT, label: TEXT } } };
  },
  REMOTE_ENDED: ({ remote }, at) => {
    const claim = remote?.claim ?? { epoch: at, seq: 1 };
    const said = { claim, completedAt: at, result: undefined, error: undefined, receipt: undefined };
    return {
      completed: { ...said, outcome: "completed", result: TEXT },
      error: { ...said, outcome: "error", error: errorOf("provider") },
      cancelled: { ...said, outcome: "cancelled" },
    };
  },
  REMOTE_HELD: ({ remote }, at) => ({ "": { claim: remote?.claim ?? { epoch: at, seq: 1 } } }),
  REMOTE_LOST: plain,
  CLOSED: plain,
  LIMIT_EXCEEDED: () => ({ "": { error: errorOf("budget") } }),
  RESUME: () => ({ "": MESSAGE }),
  RETRY: () => ({ "": { ...MESSAGE, budgetFrom: { toolCalls: 0, tokens: 0, cost: 0 } } }),
  NEXT_RUN_ASKED: () => ({
    "by a follow-up": { ...MESSAGE, begins: "RESUME" },
    "by a retry": { ...MESSAGE, begins: "RETRY" },
  }),
  STEER: () => ({ "": { ...MESSAGE, text: TEXT, from: "user" } }),
  STEERING_STORED: (context) => ({ "": { messageID: oldestInstruction(context) } }),
  STEERING_REFUSED: (context) => ({
    "for now": { messageID: oldestInstruction(context), error: errorOf("host"), retryable: true },
    "for good": { messageID: oldestInstruction(context), error: errorOf("host"), retryable: false },
  }),
  INSTRUCTION_SEEN: ({ given = [] }) => ({
    "": { messageID: given.findLast(({ seenAt }) => seenAt === undefined)?.messageID ?? "" },
  }),
  // Nothing happens before the time that is waited for.
  TICK: ({ nextDeadline }, at) => ({ "": { at: Math.max(at, nextDeadline ?? at) } }),
  RECEIPT_WRITTEN: ({ run }) => ({
    "": {
      receipt: {
        run: run.index,
        isWhole: true,
        tools: [],
        filesRead: 0,
        files: [],
        otherFiles: [],
        commands: [],
        omitted: { files: 0, otherFiles: 0, commands: 0 },
        tokens: 0,
        cost: 0,
        workedMs: 0,
        waitedMs: 0,
      },
    },
  }),
  RECEIPT_INCOMPLETE: plain,
  RESULT_READ: plain,
  SUPERVISION_FAILED: () => ({ "": { error: errorOf("internal") } }),
  ADOPTED: () => ({
    "and its notice is on its way": { recovery: "continue", isNoticePending: true },
    "and no notice is": { recovery: "continue", isNoticePending: false },
  }),
  RUN_BEGAN: none,
  RUN_ENDED: none,
  WAIT_BEGAN: () => ({ "": { call: TEXT } }),
  WAIT_ABANDONED: ofWaiters,
  WAIT_DELIVERED: ofWaiters,
  NOTICE_COMPOSED: plain,
  NOTICE_ACKNOWLEDGED: plain,
  NOTICE_DROPPED: plain,
  REQUEST_ASKED: (_, at) => ({
    "for a permission": { request: { id: TEXT, kind: "permission", what: TEXT, since: at } },
    "with a question": { request: { id: TEXT, kind: "question", what: TEXT, since: at } },
  }),
  REQUEST_ANSWERED: ({ userRequests }) => Object.fromEntries(userRequests.map(({ id }) => [id, { id }])),
  BECAME_STALE: plain,
  ACTIVITY_SEEN: plain,
};

/** What distinguishes one step from another: not the texts in place of what nobody knows. */
const led = ({ to, effects, changed }: ReplayStep): string =>
  JSON.stringify([to, effects.map(({ type }) => type), changed]);

const isOfUse = ({ refused, from, to, effects, changed }: ReplayStep): boolean =>
  refused === undefined && (effects.length > 0 || changed.length > 0 || JSON.stringify(from) !== JSON.stringify(to));

const possibleOf = <Type extends TaskEvent["type"]>(
  type: Type,
  snapshot: TaskSnapshot,
  at: number,
): PossibleEvent[] => {
  const examples = Object.entries<Brings<Type>>(EXAMPLES[type](snapshot.context, at));
  const taken = examples.flatMap(([which, brings]): PossibleEvent[] => {
    const step = tryEvent(snapshot, { at, ...brings, type } as unknown as TaskEvent);
    return isOfUse(step) ? [{ which, step }] : [];
  });
  const [first] = taken;
  // Which of them comes makes no difference.
  const isOne =
    first !== undefined && taken.length === examples.length && new Set(taken.map(({ step }) => led(step))).size === 1;
  return isOne && examples.length > 1 ? [{ ...first, which: "" }] : taken;
};

/**
 * Returns the events that the chart would take in this state at this time, in epoch milliseconds, and what each would lead to.
 * What only a text or an id of theirs decides is decided as it most often is: so there may be more.
 */
export const possibleEvents = (snapshot: TaskSnapshot, at: number): PossibleEvent[] =>
  (Object.keys(EXAMPLES) as TaskEvent["type"][]).flatMap((type) => possibleOf(type, snapshot, at));
