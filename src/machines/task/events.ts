import type { ModelRef, Question, TaskError, TaskFacts } from "../../task.ts";

/** One prompt and the answer to it. Run 0 is the launch, run n is resume n. */
export interface Run {
  index: number;
  /** Chosen before the first send, so that sending again is harmless. */
  messageID: string;
  partID: string;
  prompt: string;
  /** Epoch milliseconds. */
  startedAt: number;
}

/** An error as the host reported it. */
export interface HostError {
  name: string;
  message: string;
}

/** A permission or a question that a child asks of a person. */
export interface UserRequest {
  id: string;
  kind: "permission" | "question";
  /** What is asked, in words. */
  what: string;
  /** Epoch milliseconds. */
  since: number;
  /** Absent for a permission. */
  questions?: Question[] | undefined;
  /** What is allowed from then on when a permission is given for always, as patterns; absent for a question. */
  always?: string[] | undefined;
}

/** How a run ended: everything its notice says. Fixed when the run ends, so that a later run cannot change it. */
export interface RunResult {
  taskId: string;
  run: number;
  parentSessionID: string;
  batchId: string;
  description: string;
  outcome: "completed" | "error" | "cancelled";
  /** Epoch milliseconds. */
  startedAt: number;
  /** Epoch milliseconds. */
  endedAt: number;
  result?: string;
  error?: TaskError;
}

/** A user message whose ids are chosen by us: sent again, it is stored once, and answered once. */
export interface Prompt {
  sessionID: string;
  messageID: string;
  /** `synthetic` is hidden from people, `ignored` from models. */
  parts: { id: string; text: string; synthetic?: boolean; ignored?: boolean }[];
  /** Passed on every prompt: a prompt without an agent flips the session to the default one. */
  agent: string | undefined;
  model: ModelRef | undefined;
  /** Only store it: nobody answers. */
  noReply?: boolean;
}

/** What a task wants done to the outside, as data. A service does it and answers with an event. */
export type TaskEffect =
  /** Send the run's prompt. Answer: `PROMPT_ACCEPTED`, `PROMPT_REFUSED` or `SESSION_NOT_FOUND`. */
  | { type: "sendPrompt"; prompt: Prompt }
  /**
   * Ask the host how the run stands. Answer: one of the `look` events, with the same number. An abort of `abortedAt` is
   * behind the run: it was continued after that. `wasMissing`: the host did not find the session before; if it still does
   * not, and does not list it either, the answer is `SESSION_DELETED`.
   */
  | {
      type: "checkRun";
      checkId: number;
      sessionID: string;
      messageID: string;
      hostError: HostError | undefined;
      abortedAt: number | undefined;
      wasMissing: boolean;
    }
  /** Abort the child session and all below it. The stop holds once the run's message is there and nobody works on it. Answer: `STOPPED` or `NOT_STOPPED`. */
  | { type: "stopSession"; sessionID: string; messageID: string; requests: UserRequest[] }
  /** A run's end is owed to the parent. */
  | { type: "queueNotice"; end: RunResult }
  /** The parent learned of the end in another way: owe it no longer, if its notice is not formed yet. */
  | { type: "withdrawNotice"; taskId: string; parentSessionID: string; run: number };

/** What becomes of a run that was cut off: its prompt is sent again, and the host goes on; or the run ends in `error`. */
export type Recovery = "continue" | "fail";

type Checked = { at: number; checkId: number };

/** `lastStepAt`: when the newest step was done that the run has finished, epoch milliseconds; absent while it has none. */
type Interrupted = { lastStepAt?: number | undefined };

/** Everything that can happen to a task. `at` is the time of the event in epoch milliseconds: the machine reads no clock. */
export type TaskEvent =
  | { type: "SLOT_GRANTED"; at: number }
  | { type: "PROMPT_ACCEPTED"; at: number }
  | { type: "PROMPT_REFUSED"; at: number; error: TaskError; retryable: boolean }
  | { type: "HOST_IDLE"; at: number }
  | { type: "HOST_ERROR"; at: number; error: HostError }
  | { type: "SESSION_NOT_FOUND"; at: number }
  | { type: "SESSION_DELETED"; at: number }
  | ({ type: "CHECKED_BUSY" } & Checked)
  | ({ type: "CHECKED_ANSWERED"; completedAt: number; result: string } & Checked)
  | ({ type: "CHECKED_FAILED"; completedAt: number; error: TaskError } & Checked)
  | ({ type: "CHECKED_ABORTED"; completedAt: number } & Checked & Interrupted)
  | ({ type: "CHECKED_UNANSWERED" } & Checked & Interrupted)
  | ({ type: "CHECKED_NOT_FOUND" } & Checked)
  | ({ type: "CHECK_FAILED"; error: TaskError } & Checked)
  | { type: "CANCEL"; at: number }
  | { type: "STOPPED"; at: number }
  | { type: "NOT_STOPPED"; at: number; error: TaskError }
  | { type: "RESUME"; at: number; messageID: string; partID: string; prompt: string }
  | { type: "TICK"; at: number }
  | { type: "RESULT_READ"; at: number }
  | { type: "SUPERVISION_FAILED"; at: number; error: TaskError }
  /** `isNoticePending`: a prompt that carries the task's notice was taken over too. */
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

/** What each event of a task means, wherever it is taken. Stands in the chart, at every transition that it takes. */
export const taskEventDescriptions: Record<TaskEvent["type"], string> = {
  SLOT_GRANTED: "The run has a slot: permission to be working.",
  PROMPT_ACCEPTED: "The host took the prompt.",
  PROMPT_REFUSED: "The host did not take the prompt.",
  HOST_IDLE: "The host says that the child session is idle.",
  HOST_ERROR: "The host says that the child session met an error.",
  SESSION_NOT_FOUND: "The host did not find the child session when it was sent the prompt.",
  SESSION_DELETED: "The child session was deleted: the host said so, or found it nowhere when it was asked again.",
  CHECKED_BUSY: "The host was asked: the child is at work.",
  CHECKED_ANSWERED: "The host was asked: the run is answered.",
  CHECKED_FAILED: "The host was asked: the run failed.",
  CHECKED_ABORTED: "The host was asked: the run was aborted.",
  CHECKED_UNANSWERED: "The host was asked: nobody works on the run, and nothing answers it.",
  CHECKED_NOT_FOUND: "The host was asked, and did not find the child session.",
  CHECK_FAILED: "The host was asked, and did not say.",
  CANCEL: "The agent or a person wants the task stopped.",
  STOPPED: "The child session, and all below it, has stopped.",
  NOT_STOPPED: "The child session did not stop.",
  RESUME: "A follow-up prompt begins the next run.",
  TICK: "Time has passed.",
  RESULT_READ: "The result was read.",
  SUPERVISION_FAILED: "A fault in the plugin: the run cannot be supervised any more.",
  ADOPTED: "The process that supervised the task is gone; this one takes over.",
  RUN_BEGAN: "The lifecycle raises this for the region `run`: a run begins.",
  RUN_ENDED: "The region `run` raises this for the other regions: the run has ended.",
  WAIT_BEGAN: "A tool call waits for the run's end, in order to tell it.",
  WAIT_ABANDONED: "A tool call waits no longer, and has told nothing.",
  WAIT_DELIVERED: "A tool call's answer told the parent of the run's end.",
  NOTICE_COMPOSED: "A prompt to the parent carries the notice.",
  NOTICE_ACKNOWLEDGED: "The parent was told of the run's end.",
  NOTICE_DROPPED: "Nobody is left to tell.",
  REQUEST_ASKED: "The child asks a person for a permission, or a question.",
  REQUEST_ANSWERED: "A request of the child was answered.",
  BECAME_STALE: "The child has not been heard of for `staleAfter` milliseconds.",
  ACTIVITY_SEEN: "The child gave a sign of life.",
};

/** What a task starts from: a launch. */
export interface TaskInput {
  facts: TaskFacts;
  run: Run;
}

/** What a task remembers: plain JSON, so that it can be stored and replayed. */
export interface TaskContext {
  facts: TaskFacts;
  run: Run;
  /** How often the run's prompt was sent since the host last showed a sign of working on it. */
  sendAttempts: number;
  /** How often the session was asked to stop. */
  stopAttempts: number;
  /** Number of the newest look; answers to older ones are refused. */
  checkId: number;
  /** Looks in a row that the host did not answer. */
  failedChecks: number;
  /** Since when the host has not found the child session, epoch milliseconds. One such answer proves nothing. */
  missingSince: number | undefined;
  /** The host said "idle" or "error" while the prompt was still under way. */
  idleHinted: boolean;
  /** When `TICK` has something to do, epoch milliseconds. */
  nextDeadline: number | undefined;
  hostError: HostError | undefined;
  /** When the run was aborted, as the host has it. */
  abortedAt: number | undefined;
  completedAt: number | undefined;
  resultRetrievedAt: number | undefined;
  result: string | undefined;
  error: TaskError | undefined;
  /** How the newest run ended. */
  lastRunResult: RunResult | undefined;
  userRequests: UserRequest[];
  /** When the child fell silent. */
  staleSince: number | undefined;
  /** Tool calls that wait for the run's end in order to tell it. */
  waiters: string[];
  /** How often in a row the run was cut off, and went on, without having finished a step since the time before. */
  interruptions: number;
  /** When the newest step was done that the run had finished when it was last cut off. */
  lastStepAt: number | undefined;
  recovery: Recovery;
}
