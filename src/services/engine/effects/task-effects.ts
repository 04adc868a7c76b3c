import { ABORTED } from "../../../machines/host-events.ts";
import type { Misfit, Prompt, TaskEvent } from "../../../machines/task/events.ts";
import { besideText, isStop, type ResultSchema, type RunAnswer, type TaskError } from "../../../task.ts";
import type { HostFailure, HostMessage, HostResult } from "../../host/host.ts";
import { firstFailure, isDeleted, okIfNotFound } from "../../host/sessions.ts";
import { type EffectHandlers, type EffectOf, endRun } from "../../runtime/effects.ts";
import { stopWhile, untilNothingIsTakenBack } from "../../runtime/known-sessions.ts";
import {
  ALL_MESSAGES,
  createEarlierMessages,
  determineRunOutcome,
  NEWEST_MESSAGES,
  type RunOutcome,
  storedAtOf,
} from "../../runtime/run-outcome.ts";
import { misfitError, misfitPrompt, promptWithSchema } from "../../text/child-prompts.ts";
import type { EngineContext } from "../context.ts";
import { notStopped, stopSession } from "../operations/cancel.ts";
import { beginningOf } from "../operations/go-on.ts";

/** True when older messages would add nothing to what is known of the run. */
const isConclusive = (outcome: RunOutcome): boolean => {
  if (outcome.is === "answered") {
    // Where no step says why the model stopped, all are wanted.
    return outcome.result !== "" && outcome.isPromptKnown && outcome.incomplete !== "noStopReason";
  }
  if (outcome.is === "unseen") return outcome.lastStepAt !== undefined;
  return outcome.is === "failed" && !isStop(outcome.error);
};

const toTaskError = ({ name, message }: Pick<HostFailure, "name" | "message">): TaskError => ({
  name,
  kind: "host",
  message,
});

/** Returns the prompt with what its answer must be. */
const withSchema = (prompt: Prompt, schema: ResultSchema): Prompt => ({
  ...prompt,
  parts: prompt.parts.map((part) => ({ ...part, text: promptWithSchema(part.text, schema) })),
});

/**
 * Creates the handlers of the effects that a task asks for: a slot, to send its prompt or an instruction, to check its run,
 * to stop its session, to begin the next run.
 */
export const createTaskEffects = (
  ctx: EngineContext,
): EffectHandlers<
  | "requestSlot"
  | "sendPrompt"
  | "sendSteering"
  | "checkRun"
  | "changeModel"
  | "endTurn"
  | "stopSession"
  | "beginNextRun"
> => {
  const { host, clock, log, ids, store, runtime, slots } = ctx;
  const { observedAnswers, seenInstructions, receipts, typedResults, descendantWork, worktrees, stopsUnderWay } = ctx;
  const earlierOf = createEarlierMessages();

  /** Waits until the message may be sent. False where the task does not want that any more by then, or is another process's. */
  const maySend = async (sessionID: string, isWanted: () => boolean): Promise<boolean> => {
    const waiting = untilNothingIsTakenBack(ctx, sessionID, isWanted);
    if (waiting === undefined) return true;
    await waiting;
    return runtime.confirmOurs(sessionID) && isWanted();
  };

  /** Takes back the newest step of a session, where none of its tool calls has come to an end. */
  const takeBackStep = async (sessionID: string): Promise<void> => {
    const conversation = await host.conversation(sessionID);
    const newest = conversation.ok ? conversation.value.at(-1) : undefined;
    const calls = newest?.role === "assistant" ? newest.parts.filter(({ kind }) => kind === "tool") : [];
    const isCutOff = calls.length > 0 && calls.every((call) => call.kind === "tool" && call.result === undefined);
    if (!newest || !isCutOff) return;
    const deleted = await host.deleteMessage(sessionID, newest.id);
    if (!deleted.ok) log.info("a step could not be taken back", { sessionID, reason: deleted.failure.message });
  };

  const sendPrompt = async ({
    taskId,
    prompt,
    schema,
    redoesStep,
  }: EffectOf<"sendPrompt">): Promise<TaskEvent | undefined> => {
    const task = store.get(taskId)?.task;
    // Whatever the host answers: it knows nothing of a worktree that is gone.
    const obstacle = task && worktrees.obstacleTo(task);
    if (obstacle !== undefined) {
      const error = toTaskError({ name: "WorktreeGone", message: obstacle });
      return { type: "PROMPT_REFUSED", at: clock.now(), error, retryable: false };
    }
    const run = runtime.runBeingSent(taskId);
    const isWanted = () => run !== undefined && runtime.runBeingSent(taskId) === run;
    if (!(await maySend(taskId, isWanted))) return undefined;
    if (redoesStep) await takeBackStep(taskId);
    const sent = await host.prompt(schema ? withSchema(prompt, schema) : prompt);
    await stopWhile(host, clock, taskId, () => !runtime.isStillOurs(taskId));
    const at = clock.now();
    if (sent.ok) return { type: "PROMPT_ACCEPTED", at };
    if (sent.failure.kind === "notFound") return { type: "SESSION_NOT_FOUND", at };
    const retryable = sent.failure.kind === "unavailable";
    return { type: "PROMPT_REFUSED", at, error: toTaskError(sent.failure), retryable };
  };

  const sendSteering = async ({
    taskId,
    runMessageID,
    instruction,
  }: EffectOf<"sendSteering">): Promise<TaskEvent | undefined> => {
    const { messageID } = instruction;
    if (!(await maySend(taskId, () => runtime.instructionBeingSent(taskId) === messageID))) return undefined;
    // A model may be shown it before all of it is stored.
    ctx.noticeRepair.expect(taskId, instruction);
    // The host stores a prompt a moment after it accepted it, and the instruction has to come after it.
    const prompt = await host.message(taskId, runMessageID);
    const stored = prompt.ok ? await host.storeMessage(instruction) : prompt;
    const at = clock.now();
    if (stored.ok) return { type: "STEERING_STORED", at, messageID };
    const { kind, name, message: reason } = stored.failure;
    const error = toTaskError({ name, message: `An instruction could not be given to the agent: ${reason}` });
    return { type: "STEERING_REFUSED", at, messageID, error, retryable: kind !== "refused" };
  };

  /** Reads the run's outcome from the host, with as few calls as possible. */
  const readRunOutcome = async ({
    taskId,
    messageID,
    instructionID,
    hostError,
    abortedAt = 0,
    modelLeftAt = 0,
  }: EffectOf<"checkRun">): Promise<HostResult<RunOutcome | { is: "busy" }>> => {
    const busy = await host.busy();
    if (!busy.ok) return busy;
    if (busy.value.has(taskId)) return { ok: true, value: { is: "busy" } };
    const [newest, prompt, instruction] = await Promise.all([
      host.messages(taskId, NEWEST_MESSAGES),
      host.message(taskId, messageID),
      instructionID === undefined ? undefined : host.message(taskId, instructionID),
    ]);
    if (!newest.ok) return newest;
    for (const message of [prompt, instruction]) {
      if (message && !message.ok && message.failure.kind !== "notFound") return message;
    }
    // An error that the host reported since then is a new one, though no new message shows it.
    const isNewError = hostError !== undefined && hostError.name !== ABORTED;
    const earlierUntil = isNewError ? Math.max(modelLeftAt, abortedAt) : modelLeftAt;
    const readAt = clock.now();
    const outcomeOf = (messages: HostMessage[]) => {
      const stored = (id: string, message: HostResult<HostMessage> | undefined) => ({
        messageID: id,
        storedAt: message?.ok ? message.value.createdAt : storedAtOf(id, messages),
      });
      return determineRunOutcome({
        ...stored(messageID, prompt),
        instruction: instructionID === undefined ? undefined : stored(instructionID, instruction),
        earlier: earlierOf(messages, readAt),
        hostError,
        earlierUntil,
        messages,
      });
    };
    const outcome = outcomeOf(newest.value);
    if (isConclusive(outcome) || newest.value.length < NEWEST_MESSAGES) return { ok: true, value: outcome };
    const all = await host.messages(taskId, ALL_MESSAGES);
    return all.ok ? { ok: true, value: outcomeOf(all.value) } : all;
  };

  /** Returns the event that says why the host did not give the run's outcome. */
  const reportFailedCheck = async (
    failure: HostFailure,
    { taskId, checkId, wasMissing }: EffectOf<"checkRun">,
  ): Promise<TaskEvent> => {
    if (failure.kind !== "notFound") {
      return { type: "CHECK_FAILED", at: clock.now(), checkId, error: toTaskError(failure) };
    }
    if (!wasMissing) return { type: "CHECKED_NOT_FOUND", at: clock.now(), checkId };
    const deleted = await isDeleted(host, taskId);
    const at = clock.now();
    if (deleted.ok && deleted.value) return { type: "SESSION_DELETED", at };
    return { type: "CHECK_FAILED", at, checkId, error: toTaskError(deleted.ok ? failure : deleted.failure) };
  };

  /**
   * An agent that waits for tasks of its own, or for subagents of the host, has not finished: it will receive their results,
   * and go on. Where all of them have ended, that is about to happen.
   */
  const answered = (
    { taskId, checkId }: EffectOf<"checkRun">,
    { completedAt, result, ...answer }: { completedAt: number } & RunAnswer,
    awaitsTasks: boolean,
  ): TaskEvent => {
    const at = clock.now();
    if (descendantWork.isUnderWay(taskId)) return { type: "CHECKED_BUSY", at, checkId };
    if (!awaitsTasks) return { type: "CHECKED_ANSWERED", at, checkId, completedAt, result, ...besideText(answer) };
    return { type: runtime.awaitsRuns(taskId) ? "CHECKED_AWAITING_TASKS" : "CHECKED_BUSY", at, checkId };
  };

  /** Replaces the answer by its JSON, or adds what of it does not fit. */
  const checkedBySchema = async (event: TaskEvent, schema: ResultSchema | undefined): Promise<TaskEvent> => {
    if (event.type !== "CHECKED_ANSWERED" || !schema) return event;
    const read = await typedResults.read(schema, event.result);
    if ("json" in read) return { ...event, result: read.json };
    const { misfits } = read;
    const [partID = ""] = ids.parts(1);
    const misfit: Misfit = {
      ...{ messageID: ids.message(), partID, prompt: misfitPrompt(misfits) },
      error: { name: "SchemaMisfit", kind: "schema", message: misfitError(misfits) },
    };
    return { ...event, misfit };
  };

  /** A plain answer is known from the host's events; whether it fits a schema is not. */
  const knowRun = (effect: EffectOf<"checkRun">): TaskEvent | undefined => {
    if (effect.schema) return undefined;
    const observed = observedAnswers.answerOf(effect.taskId, effect.instructionID ?? effect.messageID);
    return observed && answered(effect, observed, runtime.awaitsTasks(effect.taskId));
  };

  const checkRun = async (effect: EffectOf<"checkRun">): Promise<TaskEvent> => {
    const { taskId, checkId, abortedAt } = effect;
    // Asked before and after: the last of its own tasks may end, and be delivered, while the host answers.
    const awaitedTasks = runtime.awaitsTasks(taskId);
    // With the end comes the receipt, which includes what was before a takeover.
    const [read] = await Promise.all([readRunOutcome(effect), receipts.ready(taskId)]);
    if (!read.ok) return reportFailedCheck(read.failure, effect);
    const outcome = read.value;
    if (outcome.is !== "busy") await seenInstructions.look(taskId);
    if (outcome.is === "answered") {
      const event = answered(effect, outcome, awaitedTasks || runtime.awaitsTasks(taskId));
      return checkedBySchema(event, effect.schema);
    }
    const at = clock.now();
    const lastStepAt = "lastStepAt" in outcome ? outcome.lastStepAt : undefined;
    const unanswered = { type: "CHECKED_UNANSWERED", at, checkId, lastStepAt } as const;
    switch (outcome.is) {
      case "busy":
        return { type: "CHECKED_BUSY", at, checkId };
      case "failed": {
        const { completedAt = at, error, model, said } = outcome;
        const known = { ...(model ? { model } : {}), ...(said === undefined ? {} : { said }) };
        return { type: "CHECKED_FAILED", at, checkId, completedAt, error, ...known };
      }
      case "faulted":
      case "aborted": {
        const { completedAt } = outcome;
        // Until the continued run has begun, the host still shows the earlier interruption.
        if (completedAt !== undefined && completedAt === abortedAt) return unanswered;
        return outcome.is === "faulted"
          ? { type: "CHECKED_HOST_FAULT", at, checkId, error: outcome.error, completedAt, lastStepAt }
          : { type: "CHECKED_ABORTED", at, checkId, completedAt: completedAt ?? at, lastStepAt };
      }
      case "unseen":
        return { type: "CHECKED_UNSEEN", at, checkId, lastStepAt };
      case "unanswered":
        return unanswered;
    }
  };

  const changeModel = async ({ taskId, model }: EffectOf<"changeModel">): Promise<TaskEvent> => {
    const aborted = await host.abort(taskId);
    const busy = await host.busy();
    const at = clock.now();
    const failure = firstFailure([okIfNotFound(aborted), busy]);
    if (!failure && busy.ok && !busy.value.has(taskId)) return { type: "MODEL_CHANGED", at, model };
    return { type: "NOT_STOPPED", at, error: notStopped(failure) };
  };

  /** Whether it has ended is found out by the check that follows, as after any other turn. */
  const endTurn = async ({ taskId }: EffectOf<"endTurn">): Promise<TaskEvent> => {
    const aborted = await host.abort(taskId);
    if (!aborted.ok)
      log.error("a turn without an end could not be aborted", { sessionID: taskId, reason: aborted.failure.message });
    return { type: "HOST_IDLE", at: clock.now() };
  };

  /** Once the session has stopped, nothing of the run follows. */
  const stop = async (effect: EffectOf<"stopSession">): Promise<TaskEvent> => {
    const event = await stopSession(ctx, effect);
    await seenInstructions.look(effect.taskId);
    return event;
  };

  return {
    requestSlot: {
      know: (request) => (slots.take(request) ? { type: "SLOT_GRANTED", at: clock.now() } : undefined),
      // It waits in the queue.
      perform: () => undefined,
      onFault: endRun,
    },
    sendPrompt: { perform: sendPrompt, failures: ["PROMPT_REFUSED", "SESSION_NOT_FOUND"], onFault: endRun },
    sendSteering: { perform: sendSteering, failures: ["STEERING_REFUSED"], onFault: endRun },
    checkRun: { know: knowRun, perform: checkRun, failures: ["CHECK_FAILED", "CHECKED_NOT_FOUND"], onFault: endRun },
    changeModel: { perform: changeModel, failures: ["NOT_STOPPED"], onFault: endRun },
    endTurn: { perform: endTurn, onFault: endRun },
    stopSession: {
      perform: (effect) => stopsUnderWay.during(effect.taskId, stop(effect)),
      failures: ["NOT_STOPPED"],
      onFault: endRun,
    },
    beginNextRun: {
      // Always: so the beginning is stored together with what led to it.
      know: ({ taskId, next }) => {
        const task = store.get(taskId)?.task;
        return task && beginningOf(ctx, task, next);
      },
      perform: () => undefined,
    },
  };
};
