import type { GateBefore, GateResult, Incompleteness, Receipt } from "../../receipt.ts";
import type {
  BudgetedUsage,
  Claim,
  ClaimedJob,
  FleetServer,
  Gate,
  GivenInstruction,
  MissedInstruction,
  ModelRef,
  ModelRefusal,
  RefusedModel,
  ResultSchema,
  RunAnswer,
  TaskError,
  TaskFacts,
  Wake,
  Worktree,
} from "../../task.ts";
import type { UserQuestion } from "../../user-request.ts";
import type { LaunchJournal } from "../launch/replay.ts";

/** One prompt and the answer to it. Run 0 is the launch, run n the n-th resume or retry. */
export interface Run {
  index: number;
  /** Chosen before the prompt is first sent, so that sending it again is harmless. */
  messageID: string;
  partID: string;
  prompt: string;
  /** Epoch milliseconds. */
  startedAt: number;
  /** The job that a later run works on; absent for a local run. That of a launch is in its facts. */
  job?: ClaimedJob;
  /** True where it goes on with what the run before did not bring to its end. */
  isRetry?: true;
  /** True where it was cancelled before it could begin: nothing of it is sent. */
  isCancelled?: true;
  /** What the task and its descendants had used when its newest retry began: budgets count from there. Absent before that. */
  budgetFrom?: BudgetedUsage;
}

/** A message to a child at work, after its run's prompt. Its ids are chosen before it is first sent, as those of a run are. */
export interface Instruction {
  messageID: string;
  partID: string;
  /** The message as the child reads it. */
  prompt: string;
}

/** What a run was told beside its prompt, and whether its model was asked with it. Times are epoch milliseconds. */
interface GivenMessage extends Pick<Instruction, "messageID">, MissedInstruction {
  at: number;
  /** When it was known to be seen; absent until then. */
  seenAt?: number;
}

/** An error as the host reports it. */
export interface HostError {
  name: string;
  message: string;
  /** Why the model was refused; absent for another failure. */
  refusal?: ModelRefusal;
  /**
   * `host`: a fault of the host itself, such as its database. `unknown`: of a kind that is not known. Both may pass, and the
   * run go on. Absent for an error that says what is wrong with the request, its model or the configuration.
   */
  fault?: "host" | "unknown";
}

/** How a gate's command ended. */
export type GateEnd = Omit<GateResult, "command" | "runs" | "before"> & {
  /** The end of what it wrote, or why it could not be started. */
  output: string;
};

/** The gate of the run under way: how often its command was started, how often it failed, and what it checks. */
interface GateState {
  runs: number;
  failures: number;
  /** The text of the answer that is checked, or was. */
  answer: string;
  /** Why that is not known to be the whole answer; absent where it is. */
  incomplete?: Incompleteness | undefined;
  /** What the agent wrote last before it; absent where the answer has text. */
  earlierText?: string | undefined;
  /** How it ended last; undefined while it has not ended yet. */
  last: GateEnd | undefined;
}

/** An answer does not fit the schema of the task's result: why, and what the child is given, with the ids of that message. */
export interface Misfit extends Instruction {
  error: TaskError;
}

/** A request of the child's model that the provider refused for now. The host makes it again by itself. */
interface ProviderRetry {
  /** How often the host makes the request again, this time included. */
  attempt: number;
  /** Why the provider refused it last, as the host says. */
  message: string;
  /** When the provider first refused it, epoch milliseconds. */
  since: number;
  /** When the host makes it again, epoch milliseconds. */
  until: number;
}

/** A permission or a question that only a person can answer. */
export interface UserRequest {
  id: string;
  kind: "permission" | "question";
  /** What the child asks, in words. */
  what: string;
  /** Epoch milliseconds. */
  since: number;
  /** Absent for a permission. */
  questions?: UserQuestion[] | undefined;
  /** The patterns that "always" would allow from then on; absent for a question. */
  always?: string[] | undefined;
  /** Set where a descendant of the task's session asked it, and not that session itself. */
  isFromBelow?: true | undefined;
}

/** A run that needs a slot, and all that limits and the order of the queue ask of it. */
export interface SlotRequest {
  taskId: string;
  agent: string;
  /** Undefined where the task has no model of its own; `model` is written "provider/model". */
  provider: string | undefined;
  model: string | undefined;
  /** Runs with a higher priority come first. */
  priority: number;
  /** When the run began, epoch milliseconds: of runs with the same priority, the oldest comes first. */
  since: number;
  /**
   * True for a run that was at work, and goes on with another model: the slot that it had is none of that model's. No
   * provider that refuses others keeps it waiting: its own refusal made it leave.
   */
  goesOn: boolean;
}

/** A tool call of the child's agent that waits for tasks which the child launched. */
interface BlockedCall {
  call: string;
  /** Those of them that have not ended. */
  taskIds: string[];
  /** When it began to wait, epoch milliseconds; absent where an earlier version stored it. */
  since?: number;
}

/** How a run ended: everything that its notice says. Fixed when the run ends, so that a later run cannot change it. */
export interface RunResult {
  taskId: string;
  run: number;
  parentSessionID: string;
  /** True for a retry. */
  isRetry?: true;
  batchId: string;
  /** Absent: `each`. */
  wake?: Wake;
  description: string;
  outcome: "completed" | "error" | "cancelled";
  /** Epoch milliseconds. */
  startedAt: number;
  /** Epoch milliseconds. */
  endedAt: number;
  /** With the outcome `error`, what the child had said before the run was stopped, or the answer that did not pass. */
  result?: string;
  /** Why `result` is not known to be the whole answer; absent where it is. */
  incomplete?: Incompleteness;
  /** What the child wrote last before the message that ended the run, where that has no text. */
  earlierText?: string;
  error?: TaskError;
  /** The further instructions that its agent never saw, oldest first; absent where there are none. */
  missed?: MissedInstruction[];
  /** The model that it went on with, and those that had refused it; absent where none did. */
  model?: ModelRef;
  refusedModels?: RefusedModel[];
}

/** A user message whose ids the plugin chooses: sent again, it is stored once and answered once. */
export interface Prompt {
  sessionID: string;
  messageID: string;
  /** `synthetic` is hidden from people, `ignored` from models. */
  parts: { id: string; text: string; synthetic?: boolean; ignored?: boolean }[];
  /** Part of every prompt: one without an agent switches the session to the default agent. */
  agent: string | undefined;
  model: ModelRef | undefined;
  /** True for a message that is only stored: no model answers it. */
  noReply?: boolean;
}

/** A run that has ended, and whose receipt is wanted. Times are epoch milliseconds. */
export interface ReceiptRequest {
  taskId: string;
  messageID: string;
  run: number;
  directory: string;
  startedAt: number;
  endedAt: number;
  /** How its gate ended, if it did. */
  gate: GateResult | undefined;
  /** Why its result is not known to be the whole answer; undefined where it is, or there is none. */
  incomplete: Incompleteness | undefined;
}

/** What a task wants done outside, as data. A service performs it and reports back with an event. */
export type TaskEffect =
  /** Ask for a slot. Reported by `SLOT_GRANTED`, at once or when one is free. */
  | ({ type: "requestSlot" } & SlotRequest)
  /**
   * Send the run's prompt, or the newest instruction after it: whichever is sent again, the host continues the run.
   * `redoesStep`: the step that was cut off waited for a person, and is taken back before: otherwise the host tells the model
   * that its call was interrupted, and nobody is asked again.
   * Reported by `PROMPT_ACCEPTED`, `PROMPT_REFUSED` or `SESSION_NOT_FOUND`.
   */
  | { type: "sendPrompt"; taskId: string; prompt: Prompt; schema?: ResultSchema; redoesStep?: true }
  /**
   * Ask the host how far the run has come. Reported by one of the `CHECKED_…` events, or by `CHECK_FAILED`, with the same
   * number. An abort at `abortedAt` does not count: the run was continued after it. Nor does a failure or an abort until
   * `modelLeftAt`: it is that of a model that the run has left. `wasMissing`: the host did not find
   * the session last time; if it still does not, nor lists it, the report is `SESSION_DELETED`. `instructionID`: the newest
   * instruction that the host has stored; the run is not answered before the model has seen it. `schema`: what an answer
   * must fit.
   */
  | {
      type: "checkRun";
      checkId: number;
      taskId: string;
      messageID: string;
      instructionID: string | undefined;
      hostError: HostError | undefined;
      abortedAt: number | undefined;
      modelLeftAt?: number | undefined;
      wasMissing: boolean;
      schema?: ResultSchema;
    }
  /**
   * Abort the child's turn, whose model is refused; its descendants work on. Reported by `MODEL_CHANGED` with this model,
   * or by `NOT_STOPPED`.
   */
  | { type: "changeModel"; taskId: string; model: ModelRef }
  /** Abort the child's turn, which would not end by itself; its descendants work on. Reported by `HOST_IDLE`. */
  | { type: "endTurn"; taskId: string }
  /**
   * Run the gate's command for the newest answer. Reported by `GATE_ENDED` with the same number. `prompt` of that event is
   * what the child is given if it failed.
   */
  | { type: "runGate"; taskId: string; gateRun: number; directory: string; gate: Gate }
  /** Run the gate's command before the agent begins. Reported by `GATE_ENDED_BEFORE`. */
  | { type: "runGateBefore"; taskId: string; directory: string; gate: Gate }
  /** The gate's command is not needed any more: end it. */
  | { type: "stopGate"; taskId: string }
  /**
   * Abort the child session and its descendants, and reject the open `requests`. The session has stopped once the
   * run's message is stored and no model works on it. `isPause`: it goes on later. Reported by `STOPPED` or `NOT_STOPPED`.
   */
  | { type: "stopSession"; taskId: string; messageID: string; requests: UserRequest[]; isPause?: true }
  /** Write down what was observed of the run, which has ended. Reported at once by `RECEIPT_WRITTEN` or `RECEIPT_INCOMPLETE`. */
  | ({ type: "writeReceipt" } & ReceiptRequest)
  /** The same, with what the host has stored of the run. Reported by `RECEIPT_WRITTEN`. */
  | ({ type: "completeReceipt" } & ReceiptRequest)
  /** Queue the run as a job for the servers of the fleet. Reported by `JOB_ENQUEUED` or `JOB_REFUSED`. */
  | { type: "enqueueJob"; taskId: string; run: number }
  /** Read what the servers have written of the run. Reported by `REMOTE_CLAIMED`, `REMOTE_ENDED` or `REMOTE_LOST`, or not at all. */
  | { type: "readRun"; taskId: string; run: number }
  /** Ask the server that works on the run to stop. It answers with `REMOTE_ENDED`. */
  | { type: "requestRemoteStop"; taskId: string; run: number }
  /** End the run in the fleet, for any server that may have it. Reported by `CLOSED`, or by what somebody wrote before. */
  | { type: "closeRun"; taskId: string; run: number }
  /** A run has ended: the task that launched this one goes on. */
  | { type: "reportEnd"; taskId: string; parentTaskId: string }
  /** Begin the run that was asked for while the result of the one before was being delivered. Reported at once by the event that it names. */
  | { type: "beginNextRun"; taskId: string; next: PlannedRun }
  /**
   * Store an instruction in the child's conversation, behind the run's prompt `runMessageID`. A child at work sees it at its
   * next step; that alone wakes nobody. Reported by `STEERING_STORED` or `STEERING_REFUSED`.
   */
  | { type: "sendSteering"; taskId: string; runMessageID: string; instruction: Prompt }
  /** The parent is owed the notice of a run. */
  | { type: "queueNotice"; end: RunResult }
  /** The parent gets the result in another way: drop the notice, if there is one that is not composed already. */
  | { type: "withdrawNotice"; taskId: string; parentSessionID: string; run: number };

/** What each effect asks for, in words that people read. Pictures and tables show it where the chart requests the effect. */
export const taskEffectDescriptions: Record<TaskEffect["type"], string> = {
  requestSlot: "The run asks for a slot.",
  sendPrompt: "The prompt is sent to OpenCode.",
  checkRun: "OpenCode is asked how far the run has come.",
  changeModel: "The turn of the refused model is aborted.",
  endTurn: "The agent's turn is aborted.",
  runGate: "The gate's command is started.",
  runGateBefore: "The gate's command is started, before the agent begins.",
  stopGate: "The gate's command is ended, if it still runs.",
  stopSession: "The session and its descendants are aborted, and their open requests rejected.",
  writeReceipt: "What was observed of the run is written down.",
  completeReceipt: "OpenCode is asked for what the receipt lacks.",
  enqueueJob: "The run is offered to the fleet.",
  readRun: "What the servers have written of the run is read.",
  requestRemoteStop: "The server that works on the run is asked to stop.",
  closeRun: "The run is closed in the fleet.",
  reportEnd: "The task that launched this one learns of the end.",
  beginNextRun: "The next run begins.",
  sendSteering: "The oldest instruction is sent to OpenCode.",
  queueNotice: "The notice of the end is queued for the parent.",
  withdrawNotice: "The notice is withdrawn: the result is delivered in another way.",
};

/** What becomes of an interrupted run: its prompt is sent again, and the host continues it; or it ends in `error`. */
export type Recovery = "continue" | "fail";

/** The answer to the check with that number. */
type CheckResult = { at: number; checkId: number };

/** `lastStepAt`: when the run finished its newest model step, in epoch milliseconds; absent when it has finished none. */
type LastStep = { lastStepAt?: number | undefined };

/** Who paused a run. */
export type PausedBy = "agent" | "person";

/** What a provider said that refuses a run for long. */
export interface LongRefusal {
  message: string;
  /** When it serves again, epoch milliseconds. */
  until: number;
}

/** A run that is paused, is being paused, or waits for a slot to go on after that. */
export interface Pause {
  by: PausedBy | "provider";
  /** Why the run waits, and until when, where its provider is the reason: then it continues by itself. */
  refusal?: LongRefusal;
  /** What was open when it was paused. */
  requests: UserRequest[];
  /** How often its session was asked to stop. */
  attempts: number;
  /** True where something of the run was sent to OpenCode before: what became of that is found out before the run goes on. */
  wasSent?: true;
}

/** How the next run of a task begins: by a follow-up to its answer, or from where it was stopped. */
export type NextRunWay = "RESUME" | "RETRY";

/** A run that was asked for while the result of the one before is still being delivered. */
export type PlannedRun = Omit<NextRun, "at"> & {
  begins: NextRunWay;
  /** True where it was cancelled meanwhile. */
  isCancelled?: true;
};

/**
 * A further run in the session of a task. `job`: the run of another server's task that it works on; absent for a local run.
 * `model`: the model that the task works with from then on; absent where that stays the same.
 */
type NextRun = { at: number; messageID: string; partID: string; prompt: string; job?: ClaimedJob; model?: ModelRef };

/** Everything that can happen to a task. `at` is the time of the event in epoch milliseconds: the chart reads no clock. */
export type TaskEvent =
  | { type: "SLOT_GRANTED"; at: number }
  | { type: "PROMPT_ACCEPTED"; at: number }
  | { type: "PROMPT_REFUSED"; at: number; error: TaskError; retryable: boolean }
  | { type: "HOST_BUSY"; at: number }
  /** `until`: when the host makes the refused request again, epoch milliseconds. `attempt` counts from 1 for each request. */
  | { type: "HOST_RETRYING"; at: number; attempt: number; message: string; until: number }
  | { type: "HOST_ANSWERING"; at: number }
  | { type: "HOST_IDLE"; at: number }
  | { type: "STEPS_WITHOUT_END"; at: number }
  | { type: "HOST_ERROR"; at: number; error: HostError }
  | { type: "SESSION_NOT_FOUND"; at: number }
  | { type: "SESSION_DELETED"; at: number }
  | ({ type: "CHECKED_BUSY" } & CheckResult)
  | ({ type: "CHECKED_AWAITING_TASKS" } & CheckResult)
  /** Of a task with a schema, `result` is the JSON that fits it, or, with a `misfit`, the answer as it is. */
  | ({ type: "CHECKED_ANSWERED"; completedAt: number; misfit?: Misfit } & RunAnswer & CheckResult)
  /**
   * `model`: the one that was asked; absent where only the error is known. A person may have asked another one than the run's.
   * `said`: what the child wrote last in this run, where the error is no failure of a request, but how its answer ended.
   */
  | ({ type: "CHECKED_FAILED"; completedAt: number; error: TaskError; model?: ModelRef; said?: string } & CheckResult)
  /** `completedAt`: when the step ended in which it happened; absent where it did not end. */
  | ({ type: "CHECKED_HOST_FAULT"; error: TaskError; completedAt?: number | undefined } & CheckResult & LastStep)
  | ({ type: "CHECKED_ABORTED"; completedAt: number } & CheckResult & LastStep)
  | ({ type: "CHECKED_UNANSWERED" } & CheckResult & LastStep)
  | ({ type: "CHECKED_UNSEEN" } & CheckResult & LastStep)
  | ({ type: "CHECKED_NOT_FOUND" } & CheckResult)
  | ({ type: "CHECK_FAILED"; error: TaskError } & CheckResult)
  /** `prompt` is what the child is given if the command failed; its ids are those of the message. */
  | {
      type: "GATE_ENDED";
      at: number;
      gateRun: number;
      end: GateEnd;
      messageID: string;
      partID: string;
      prompt: string;
    }
  | { type: "GATE_ENDED_BEFORE"; at: number; end: GateBefore }
  | { type: "CALL_BLOCKED"; at: number; call: string; taskIds: string[] }
  | { type: "CALL_RETURNED"; at: number; call: string }
  | { type: "OWN_TASK_ENDED"; at: number; taskId: string }
  | { type: "CANCEL"; at: number }
  | { type: "PAUSE"; at: number; by: PausedBy }
  | { type: "PAUSE"; at: number; by: "provider"; refusal: LongRefusal }
  | { type: "CONTINUE"; at: number }
  | { type: "STOPPED"; at: number }
  | { type: "NOT_STOPPED"; at: number; error: TaskError }
  | { type: "MODEL_CHANGED"; at: number; model: ModelRef }
  | { type: "JOB_ENQUEUED"; at: number }
  | { type: "JOB_REFUSED"; at: number; error: TaskError; retryable: boolean }
  /** `replaces`: the claim by which that server began the run, and which the broker has lost; absent where it begins it now. */
  | {
      type: "REMOTE_CLAIMED";
      at: number;
      claim: Claim;
      server: FleetServer;
      replaces?: Claim;
      /** True where the broker has forgotten the newest claim that is known here: then this one counts, whatever its place. */
      isNewestForgotten?: boolean;
    }
  | {
      type: "REMOTE_ENDED";
      at: number;
      claim: Claim;
      outcome: RunResult["outcome"];
      completedAt: number;
      result: string | undefined;
      incomplete?: Incompleteness | undefined;
      earlierText?: string | undefined;
      error: TaskError | undefined;
      receipt: Receipt | undefined;
      /** What its agent changed, made into a worktree here; absent where that is nothing. */
      worktree?: Worktree | undefined;
    }
  | { type: "REMOTE_HELD"; at: number; claim: Claim }
  | { type: "REMOTE_LOST"; at: number }
  | { type: "CLOSED"; at: number }
  /** `said`: the child's last text in this run; absent when it has said nothing, or the host did not give it in time. */
  | { type: "LIMIT_EXCEEDED"; at: number; error: TaskError; said?: string | undefined }
  | ({ type: "RESUME"; isCancelled?: true } & NextRun)
  /** `budgetFrom`: what the task and its descendants have used by now, which its budgets leave out from then on. */
  | ({ type: "RETRY"; isCancelled?: true; budgetFrom: BudgetedUsage } & NextRun)
  /** `begins`: the event that is to begin the run. */
  | ({ type: "NEXT_RUN_ASKED"; begins: NextRunWay } & NextRun)
  /** `text`: how the instruction begins, on one line, as its giver wrote it. */
  | {
      type: "STEER";
      at: number;
      messageID: string;
      partID: string;
      prompt: string;
      text: string;
      from: GivenInstruction["from"];
    }
  | { type: "STEERING_STORED"; at: number; messageID: string }
  | { type: "STEERING_REFUSED"; at: number; messageID: string; error: TaskError; retryable: boolean }
  /** `messageID`: the newest instruction that the step was shown. Those that were given before it are in the same conversation. */
  | { type: "INSTRUCTION_SEEN"; at: number; messageID: string }
  | { type: "TICK"; at: number }
  | { type: "RECEIPT_WRITTEN"; at: number; receipt: Receipt }
  | { type: "RECEIPT_INCOMPLETE"; at: number }
  | { type: "RESULT_READ"; at: number }
  | { type: "SUPERVISION_FAILED"; at: number; error: TaskError }
  /** `isNoticePending`: a prompt that carries the task's notice was taken over as well. */
  | { type: "ADOPTED"; at: number; recovery: Recovery; isNoticePending: boolean }
  | { type: "RUN_BEGAN"; at: number }
  | { type: "RUN_ENDED"; at: number; outcome: RunResult["outcome"] }
  /** `call` names the tool call that waits, unique within the parent session. */
  | { type: "WAIT_BEGAN"; at: number; call: string }
  | { type: "WAIT_ABANDONED"; at: number; call: string }
  | { type: "WAIT_DELIVERED"; at: number; call: string }
  | { type: "NOTICE_COMPOSED"; at: number }
  | { type: "NOTICE_ACKNOWLEDGED"; at: number }
  | { type: "NOTICE_DROPPED"; at: number }
  | { type: "REQUEST_ASKED"; at: number; request: UserRequest }
  | { type: "REQUEST_ANSWERED"; at: number; id: string }
  | { type: "BECAME_STALE"; at: number }
  | { type: "ACTIVITY_SEEN"; at: number };

/** What each event of a task means, in every state. The chart shows it at each transition that the event takes. */
export const taskEventDescriptions: Record<TaskEvent["type"], string> = {
  SLOT_GRANTED: "The run has a slot: it may be worked on.",
  PROMPT_ACCEPTED: "OpenCode accepted the prompt.",
  PROMPT_REFUSED: "OpenCode refused the prompt.",
  HOST_BUSY: "OpenCode reports that a model works in the task's session.",
  HOST_RETRYING: "OpenCode reports that the provider refused a request for now, and when it makes the request again.",
  HOST_ANSWERING: "OpenCode reports that the provider answers the agent's request.",
  HOST_IDLE: "OpenCode reports that the task's session is idle.",
  HOST_ERROR: "OpenCode reports an error in the task's session.",
  STEPS_WITHOUT_END:
    "The agent has taken several steps in a row without a tool call and without an end that OpenCode knows: it asks the model again for ever.",
  SESSION_NOT_FOUND: "The prompt was sent, and OpenCode did not find the task's session.",
  SESSION_DELETED: "The task's session was deleted: OpenCode reports it, or did not find it when asked twice.",
  CHECKED_BUSY: "The check shows that the agent is at work.",
  CHECKED_AWAITING_TASKS: "The check shows that the agent's turn has ended, and that tasks which it launched run.",
  CHECKED_ANSWERED: "The check shows that the run is answered.",
  CHECKED_FAILED: "The check shows that the run failed.",
  CHECKED_HOST_FAULT: "The check shows that a fault of OpenCode itself interrupted the run.",
  CHECKED_ABORTED: "The check shows that the run was aborted.",
  CHECKED_UNANSWERED: "The check shows that the run has no answer, and that no model works on it.",
  CHECKED_UNSEEN: "The check shows that the run was answered before its model saw the newest instruction.",
  CHECKED_NOT_FOUND: "OpenCode was asked, and did not find the task's session.",
  CHECK_FAILED: "OpenCode was asked, and did not answer.",
  GATE_ENDED: "The gate's command has ended.",
  GATE_ENDED_BEFORE: "The gate's command has ended that was run before the agent begins.",
  CALL_BLOCKED: "A tool call of the task's agent waits for tasks that the agent launched.",
  CALL_RETURNED: "That tool call waits no longer.",
  OWN_TASK_ENDED: "A run of a task that the agent launched has ended.",
  CANCEL: "The agent or a person cancels the task.",
  PAUSE: "The agent or a person pauses the task, or its provider refuses it for hours.",
  CONTINUE: "The agent or a person has the paused task go on, or its provider serves again.",
  STOPPED: "The task's session and its descendants have stopped.",
  NOT_STOPPED: "The task's session has not stopped.",
  MODEL_CHANGED: "The turn of the model that is refused has ended: the run goes on with this one.",
  JOB_ENQUEUED: "The broker of the fleet has queued the job.",
  JOB_REFUSED: "The broker of the fleet did not take the job.",
  REMOTE_CLAIMED: "A server of the fleet claims the run.",
  REMOTE_ENDED: "The server that has the run reports how it ended.",
  REMOTE_HELD: "The server that claimed the run last still holds its lease: it stood still, and goes on.",
  REMOTE_LOST: "The run is lost in the fleet: no job is queued, no server works on it, and none has reported its end.",
  CLOSED: "The run is closed in the fleet: no report of a server counts any more.",
  LIMIT_EXCEEDED: "The run is beyond a limit of the options: a budget, repeated calls, or its time.",
  RESUME: "A follow-up prompt begins the next run.",
  RETRY: "The task goes on after its last finished step, in a run of its own.",
  NEXT_RUN_ASKED: "The task is asked to go on while its result is still being delivered: it does after that.",
  STEER: "The agent or a person gives the running task a further instruction.",
  STEERING_STORED: "The instruction is in the agent's conversation.",
  STEERING_REFUSED: "OpenCode did not take the instruction.",
  INSTRUCTION_SEEN: "A step of the agent began after the instruction was stored: its model was asked with it.",
  TICK: "Time has passed.",
  RECEIPT_INCOMPLETE: "This process has not seen all of the run: OpenCode is asked what it has stored of it.",
  RECEIPT_WRITTEN: "What was observed of the run is known.",
  RESULT_READ: "The result was read.",
  SUPERVISION_FAILED: "A fault in the plugin: the run can no longer be supervised.",
  ADOPTED: "The process that supervised the task has ended, and this one takes over.",
  RUN_BEGAN: "A run begins. The lifecycle raises this for the region `run`.",
  RUN_ENDED: "The run has ended. The region `run` raises this for the other regions.",
  WAIT_BEGAN: "A tool call starts to wait for the run, in order to return its result.",
  WAIT_ABANDONED: "A tool call no longer waits, and has returned nothing.",
  WAIT_DELIVERED: "A tool call delivered the run's result to the parent.",
  NOTICE_COMPOSED: "A prompt to the parent carries the notice.",
  NOTICE_ACKNOWLEDGED: "The parent's model has read the notice.",
  NOTICE_DROPPED: "The notice cannot be delivered: the parent is gone, or OpenCode keeps refusing it.",
  REQUEST_ASKED: "The agent asks for a permission, or asks a question.",
  REQUEST_ANSWERED: "A permission or question was answered, or withdrawn.",
  BECAME_STALE: "OpenCode has reported nothing of the agent for `timeouts.stale` milliseconds.",
  ACTIVITY_SEEN: "OpenCode reports something of the agent again.",
};

/** What a task's chart begins with: what is known at launch, and the first run. */
export interface TaskInput {
  facts: TaskFacts;
  run: Run;
  /** How it was launched, where a launch in this version led to it; nothing to the chart. */
  launch?: LaunchJournal;
}

/** What is known of the server of the fleet that took a task's run last. */
export interface RemoteRun {
  claim: Claim;
  server: FleetServer;
  /**
   * The claims by which servers have begun the run, each once: none where only a run before it was begun. A broker that was set
   * back shows them again.
   */
  attempts: Pick<RemoteRun, "claim" | "server">[];
  /** What its agent changed there, in this run and those before. */
  worktree?: Worktree | undefined;
}

/** Each event in a few words, as pictures label their arrows with it. */
export const taskEventWords: Record<TaskEvent["type"], string> = {
  SLOT_GRANTED: "slot granted",
  PROMPT_ACCEPTED: "prompt accepted",
  PROMPT_REFUSED: "prompt refused",
  HOST_BUSY: "OpenCode: at work",
  HOST_RETRYING: "provider refuses for now",
  HOST_ANSWERING: "provider answers",
  HOST_IDLE: "OpenCode: idle",
  HOST_ERROR: "OpenCode: error",
  STEPS_WITHOUT_END: "steps without end",
  SESSION_NOT_FOUND: "session not found",
  SESSION_DELETED: "session deleted",
  CHECKED_BUSY: "found at work",
  CHECKED_AWAITING_TASKS: "found waiting for its tasks",
  CHECKED_ANSWERED: "found answered",
  CHECKED_FAILED: "found failed",
  CHECKED_HOST_FAULT: "found interrupted by a fault",
  CHECKED_ABORTED: "found aborted",
  CHECKED_UNANSWERED: "found unanswered",
  CHECKED_UNSEEN: "instruction found unseen",
  CHECKED_NOT_FOUND: "session not found",
  CHECK_FAILED: "OpenCode does not answer",
  GATE_ENDED: "the command ends",
  GATE_ENDED_BEFORE: "the command ends",
  CALL_BLOCKED: "a tool call waits",
  CALL_RETURNED: "that call returns",
  OWN_TASK_ENDED: "a task of its own ends",
  CANCEL: "cancelled",
  PAUSE: "paused",
  CONTINUE: "told to go on",
  STOPPED: "stopped",
  NOT_STOPPED: "not stopped",
  MODEL_CHANGED: "turn of the model ended",
  JOB_ENQUEUED: "job queued",
  JOB_REFUSED: "job refused",
  REMOTE_CLAIMED: "a server claims it",
  REMOTE_ENDED: "the server reports the end",
  REMOTE_HELD: "the server goes on",
  REMOTE_LOST: "lost in the fleet",
  CLOSED: "closed in the fleet",
  LIMIT_EXCEEDED: "limit exceeded",
  RESUME: "resumed",
  RETRY: "retried",
  NEXT_RUN_ASKED: "asked to go on",
  STEER: "instruction given",
  STEERING_STORED: "instruction stored",
  STEERING_REFUSED: "instruction refused",
  INSTRUCTION_SEEN: "instruction seen",
  TICK: "time passes",
  RECEIPT_INCOMPLETE: "receipt incomplete",
  RECEIPT_WRITTEN: "receipt written",
  RESULT_READ: "result read",
  SUPERVISION_FAILED: "fault in the plugin",
  ADOPTED: "taken over after a crash",
  RUN_BEGAN: "a run begins",
  RUN_ENDED: "the run has ended",
  WAIT_BEGAN: "a call waits for it",
  WAIT_ABANDONED: "that call gives up",
  WAIT_DELIVERED: "that call delivered it",
  NOTICE_COMPOSED: "in a prompt",
  NOTICE_ACKNOWLEDGED: "read by the parent",
  NOTICE_DROPPED: "cannot be delivered",
  REQUEST_ASKED: "the agent asks",
  REQUEST_ANSWERED: "answered or withdrawn",
  BECAME_STALE: "silent for too long",
  ACTIVITY_SEEN: "active again",
};

/** What a task's chart remembers: plain JSON, so that it can be stored and replayed. */
export interface TaskContext {
  facts: TaskFacts;
  run: Run;
  /** The instructions that the host has not shown to have stored, oldest first; undefined when there is none. */
  instructions?: Instruction[] | undefined;
  /** All instructions of the run, oldest first; undefined where it was given none. Those that are not seen when it ends are missed. */
  given?: GivenMessage[] | undefined;
  /** The newest instruction of the run that the host has stored. */
  storedInstruction?: Instruction | undefined;
  /** How often the oldest instruction was sent in vain; undefined when it was not. */
  steerAttempts?: number | undefined;
  /** How often the run's prompt was sent since the host last showed that it works on it. */
  sendAttempts: number;
  /** How often the session was asked to stop. */
  stopAttempts: number;
  /** Number of the newest check; answers to older ones are refused. */
  checkId: number;
  /** How many checks in a row the host did not answer. */
  failedChecks: number;
  /** When the host first did not find the child session, epoch milliseconds. One such answer proves nothing. */
  missingSince: number | undefined;
  /** True when the host reported idle or an error before it accepted the prompt. */
  idleHinted: boolean;
  /** The request that the provider refused last; undefined where it refused none, or has answered since, or is left. */
  retry?: ProviderRetry | undefined;
  /** When `TICK` is due, epoch milliseconds. */
  nextDeadline: number | undefined;
  hostError: HostError | undefined;
  /** The model that a retry named: the task's own from then on. Undefined: that of its launch. */
  ownModel?: ModelRef | undefined;
  /** The model that the run works with in place of the task's own, which is refused. */
  model?: ModelRef | undefined;
  /** The models that refused the run, oldest first; undefined where none did. */
  refusedModels?: RefusedModel[] | undefined;
  /** When the run left the last of them, epoch milliseconds. */
  modelLeftAt?: number | undefined;
  /** When the run was aborted, by the host's record, epoch milliseconds. */
  abortedAt: number | undefined;
  /**
   * When the run got the newest slot that it waited for, or the gate's command had ended that was run before it, epoch
   * milliseconds; undefined where neither kept it waiting. Its time counts from then on.
   */
  queuedUntil: number | undefined;
  /** Since when a live run waits for what it waits for now, epoch milliseconds; absent where an earlier version stored it. */
  waitingSince?: number | undefined;
  /** Why the run is being stopped, or was: it is beyond a limit. Undefined for a run that is stopped by a cancellation. */
  limitError: TaskError | undefined;
  completedAt: number | undefined;
  resultRetrievedAt: number | undefined;
  result: string | undefined;
  /** Why `result` is not known to be the whole answer; undefined where it is. */
  incomplete?: Incompleteness | undefined;
  /** What the child wrote last before the message that is the result, where that has no text. */
  earlierText?: string | undefined;
  error: TaskError | undefined;
  /** Undefined until an answer of the run comes to its gate. */
  gate?: GateState | undefined;
  /** How the gate's command ended before the agent began; undefined until it has, and where it is not run then. Later runs keep it. */
  gateBefore?: GateBefore | undefined;
  /** The server of the fleet that took the run last, and how many did; undefined where none has. */
  remote?: RemoteRun | undefined;
  /** How many answers in a row did not fit the schema; undefined where the newest one did, or there is none. */
  misfits?: number | undefined;
  /** What was observed of the newest run, once it has ended. */
  receipt?: Receipt | undefined;
  /** True while the host is asked for what a receipt lacks: until then the task is not at rest. */
  isReceiptIncomplete?: boolean | undefined;
  /** How the newest run ended. */
  lastRunResult: RunResult | undefined;
  /** Undefined while the run is not paused. */
  pause?: Pause | undefined;
  /** What the task goes on with once the result of its newest run is delivered; undefined where nobody has asked for it. */
  nextRun?: PlannedRun | undefined;
  userRequests: UserRequest[];
  /** What was open in a process that has ended. The step that asked is done again; kept until it asks, or the run ends. */
  lostRequests?: UserRequest[] | undefined;
  /** True until the prompt is sent again after such an end, where it was this child that asked: its last step is taken back. */
  redoesStep?: boolean | undefined;
  /** When the child became stale, epoch milliseconds. */
  staleSince: number | undefined;
  /** Tool calls that wait for the run, in order to return its result. */
  waiters: string[];
  /** When the run was interrupted last and went on, epoch milliseconds; undefined where it was not. */
  interruptedAt?: number | undefined;
  /**
   * How often in a row the process ended while an answer was checked, by its schema or by the gate's command, or while that
   * command ran before the agent began; undefined where it did not. The check may be what ends it.
   */
  endedInChecks?: number | undefined;
  /** How often in a row the run was interrupted and continued without finishing a step in between. */
  interruptions: number;
  /** Tool calls of the child's agent that wait for the child's own tasks; undefined while there are none. */
  blockedCalls?: BlockedCall[] | undefined;
  /** When the run finished its newest step before it was last interrupted, epoch milliseconds. */
  lastStepAt: number | undefined;
  recovery: Recovery;
}
