import type { OutboxEvent, Sender } from "../../machines/outbox/events.ts";
import type { Effect, SupervisorEvent } from "../../machines/supervisor/events.ts";
import type { TaskEvent } from "../../machines/task/events.ts";
import type { TaskError } from "../../task.ts";
import type { Host, HostFailure, HostMessage, HostResult, HostSession } from "../host/host.ts";
import { isDeleted } from "../host/is-deleted.ts";
import type { Clock } from "../platform/clock.ts";
import type { ObservedAnswers } from "./observed-answers.ts";
import { determineRunOutcome, isAnswer, type RunOutcome } from "./run-outcome.ts";

/** What goes with a rejection, for a child that is being stopped. */
const CANCELLED = "The task is cancelled.";

type Of<Type extends Effect["type"]> = Extract<Effect, { type: Type }>;

/** Messages that are read at first: a run's end and its text are nearly always in the newest one. */
const NEWEST_MESSAGES = 4;
/**
 * Messages that are read when the newest have no text, no answer or no finished step in them: an agent that takes more
 * steps without a word is silent.
 */
const ALL_MESSAGES = 200;

/** True when older messages would tell nothing more of how a run stands. */
const isPlain = (standing: RunOutcome): boolean => {
  if (standing.is === "answered") return standing.result !== "";
  return standing.is === "failed" || (standing.is === "aborted" && standing.lastStepAt !== undefined);
};

const asError = ({ name, message }: HostFailure): TaskError => ({ name, kind: "host", message });

const firstFailure = (results: HostResult<unknown>[]): HostFailure | undefined =>
  results.find((result) => !result.ok)?.failure;

/** What does not exist any more is no failure of a call that would have ended it. */
const unlessNotFound = (result: HostResult<unknown>): HostResult<unknown> =>
  !result.ok && result.failure.kind === "notFound" ? { ok: true, value: undefined } : result;

/** Of a message that is not found by its id: when it was stored, if it is among those that were read. */
const storedIn = (messages: HostMessage[], messageID: string): number | undefined =>
  messages.find(({ id }) => id === messageID)?.createdAt;

/**
 * Aborts a session and everything below it. Returns the sessions that were reached, and what failed: also where a session
 * was not found, for there may be some below it. One that is gone is not listed the next time.
 */
const abortAll = async (
  host: Host,
  sessionID: string,
): Promise<{ sessions: string[]; results: HostResult<unknown>[] }> => {
  const [aborted, children] = await Promise.all([host.abort(sessionID), host.children(sessionID)]);
  const below = await Promise.all((children.ok ? children.value : []).map((child) => abortAll(host, child)));
  return {
    sessions: [sessionID, ...below.flatMap(({ sessions }) => sessions)],
    results: [aborted, children, ...below.flatMap(({ results }) => results)],
  };
};

/** What is known of the children without asking the host. */
export interface ChildObservations extends Pick<ObservedAnswers, "answerOf"> {
  /** True while tasks that this session launched, or a session below it, run, or their ends are not told. */
  awaitsTasks(sessionID: string): boolean;
}

/** Does what tasks and outboxes request of the host, and says with an event how it went. Never throws. */
export const createEffects = (host: Host, clock: Clock, children: ChildObservations) => {
  const prompt = async ({ prompt }: Of<"sendPrompt">): Promise<TaskEvent> => {
    const sent = await host.prompt(prompt);
    const at = clock.now();
    if (sent.ok) return { type: "PROMPT_ACCEPTED", at };
    if (sent.failure.kind === "notFound") return { type: "SESSION_NOT_FOUND", at };
    return {
      type: "PROMPT_REFUSED",
      at,
      error: asError(sent.failure),
      retryable: sent.failure.kind === "unavailable",
    };
  };

  /** How the run stands, from as few calls as tell it. */
  const readRunOutcome = async ({
    sessionID,
    messageID,
    hostError,
  }: Of<"checkRun">): Promise<HostResult<RunOutcome | { is: "busy" }>> => {
    const busy = await host.busy();
    if (!busy.ok) return busy;
    if (busy.value.has(sessionID)) return { ok: true, value: { is: "busy" } };
    const [few, prompt] = await Promise.all([
      host.messages(sessionID, NEWEST_MESSAGES),
      host.message(sessionID, messageID),
    ]);
    if (!few.ok) return few;
    if (!prompt.ok && prompt.failure.kind !== "notFound") return prompt;
    const settled = (messages: HostMessage[]) => {
      const storedAt = prompt.ok ? prompt.value.createdAt : storedIn(messages, messageID);
      return determineRunOutcome({ messageID, hostError, storedAt, messages });
    };
    const standing = settled(few.value);
    if (isPlain(standing) || few.value.length < NEWEST_MESSAGES) return { ok: true, value: standing };
    const many = await host.messages(sessionID, ALL_MESSAGES);
    return many.ok ? { ok: true, value: settled(many.value) } : many;
  };

  /** The host failed to say how the run stands. */
  const reportFailedCheck = async (
    failure: HostFailure,
    { sessionID, checkId, wasMissing }: Of<"checkRun">,
  ): Promise<TaskEvent> => {
    if (failure.kind !== "notFound") return { type: "CHECK_FAILED", at: clock.now(), checkId, error: asError(failure) };
    if (!wasMissing) return { type: "CHECKED_NOT_FOUND", at: clock.now(), checkId };
    const deleted = await isDeleted(host, sessionID);
    const at = clock.now();
    if (deleted.ok && deleted.value) return { type: "SESSION_DELETED", at };
    return { type: "CHECK_FAILED", at, checkId, error: asError(deleted.ok ? failure : deleted.failure) };
  };

  const look = async (effect: Of<"checkRun">): Promise<TaskEvent> => {
    const { sessionID, messageID, checkId, abortedAt } = effect;
    // Asked before and after: its last task may end, and be told, while the host answers.
    const awaitedTasks = children.awaitsTasks(sessionID);
    const told = children.answerOf(sessionID, messageID);
    const seen: HostResult<RunOutcome | { is: "busy" }> = told
      ? { ok: true, value: { is: "answered", ...told } }
      : await readRunOutcome(effect);
    if (!seen.ok) return reportFailedCheck(seen.failure, effect);
    const standing = seen.value;
    // An agent that waits for tasks of its own has not answered yet: it will be told of them, and go on.
    if (standing.is === "answered" && (awaitedTasks || children.awaitsTasks(sessionID))) {
      return { type: "CHECKED_BUSY", at: clock.now(), checkId };
    }
    const at = clock.now();
    const lastStepAt = "lastStepAt" in standing ? standing.lastStepAt : undefined;
    switch (standing.is) {
      case "busy":
        return { type: "CHECKED_BUSY", at, checkId };
      case "answered":
        return { type: "CHECKED_ANSWERED", at, checkId, completedAt: standing.completedAt, result: standing.result };
      case "failed":
        return { type: "CHECKED_FAILED", at, checkId, completedAt: standing.completedAt ?? at, error: standing.error };
      case "aborted":
        // Until the continued run has begun, the host shows how it was cut off before.
        if (standing.completedAt !== undefined && standing.completedAt === abortedAt) {
          return { type: "CHECKED_UNANSWERED", at, checkId, lastStepAt };
        }
        return { type: "CHECKED_ABORTED", at, checkId, completedAt: standing.completedAt ?? at, lastStepAt };
      case "unanswered":
        return { type: "CHECKED_UNANSWERED", at, checkId, lastStepAt };
    }
  };

  const stop = async ({ sessionID, messageID, requests }: Of<"stopSession">): Promise<TaskEvent> => {
    const { sessions, results } = await abortAll(host, sessionID);
    // An abort leaves the child's open requests listed for ever.
    const rejected = await Promise.all(requests.map((request) => host.rejectUserRequest(request, CANCELLED)));
    const prompted = await host.message(sessionID, messageID);
    // Once more, now that the prompt is known to be there: the first abort may have come before it.
    const again = await host.abort(sessionID);
    const busy = await host.busy();
    const at = clock.now();
    const failure = firstFailure([...results, again, ...rejected.map(unlessNotFound), busy, prompted]);
    const running = busy.ok && sessions.some((session) => busy.value.has(session));
    if (!failure && !running) return { type: "STOPPED", at };
    return {
      type: "NOT_STOPPED",
      at,
      error: {
        name: failure?.name ?? "StillRunning",
        kind: "host",
        message: `OpenCode did not confirm that the session stopped${failure ? `: ${failure.message}` : "."}`,
      },
    };
  };

  /** What the event of a failed call to the parent says: that it is not found, or anything else. */
  const missing = ({ kind, message }: HostFailure): OutboxEvent | undefined =>
    kind === "notFound" ? { type: "PARENT_NOT_FOUND", at: clock.now(), message } : undefined;

  /** False for an agent that the configuration has no more. A host that does not say so has it. */
  const hasAgent = async (name: string | undefined): Promise<boolean> => {
    const agents = await host.agents();
    return !agents.ok || agents.value.some((agent) => agent.name === name);
  };

  /** The session's own agent, or none where that is what the host refuses: then its default one takes over. */
  const senderOf = async ({ agent, model }: HostSession, wasRefused: boolean): Promise<Sender> => ({
    agent: !wasRefused || (await hasAgent(agent)) ? agent : undefined,
    model,
  });

  const read = async ({ parentSessionID, wasRefused }: Of<"readParent">): Promise<OutboxEvent> => {
    const parent = await host.session(parentSessionID);
    if (parent.ok) {
      const sender = await senderOf(parent.value, wasRefused);
      return { type: "PARENT_READ", at: clock.now(), sender };
    }
    const { message } = parent.failure;
    return missing(parent.failure) ?? { type: "READ_FAILED", at: clock.now(), message };
  };

  const search = async ({ parentSessionID }: Of<"findParent">): Promise<OutboxEvent> => {
    const deleted = await isDeleted(host, parentSessionID);
    const at = clock.now();
    if (!deleted.ok) return { type: "SEARCH_FAILED", at, message: deleted.failure.message };
    return { type: deleted.value ? "PARENT_CLOSED" : "PARENT_FOUND", at };
  };

  const send = async ({ parentSessionID, prompt, sender }: Of<"sendNotice">): Promise<OutboxEvent> => {
    const { messageID, parts } = prompt;
    const sent = await host.prompt({ sessionID: parentSessionID, messageID, parts, ...sender });
    const at = clock.now();
    if (sent.ok) return { type: "SENT", at, messageID };
    const { kind, message } = sent.failure;
    const retryable = kind === "unavailable";
    return missing(sent.failure) ?? { type: "SEND_REFUSED", at, messageID, message, retryable };
  };

  const check = async ({ parentSessionID, messageID }: Of<"checkNotice">): Promise<OutboxEvent> => {
    const [stored, newest, busy] = await Promise.all([
      host.message(parentSessionID, messageID),
      host.messages(parentSessionID, NEWEST_MESSAGES),
      host.busy(),
    ]);
    const at = clock.now();
    const isMissing = newest.ok ? undefined : missing(newest.failure);
    if (isMissing) return isMissing;
    const failure = firstFailure([newest, busy, unlessNotFound(stored)]);
    if (!newest.ok || !busy.ok || failure) {
      return { type: "CHECK_FAILED", at, messageID, message: failure?.message ?? "" };
    }
    const storedAt = stored.ok ? stored.value.createdAt : storedIn(newest.value, messageID);
    if (storedAt === undefined) return { type: "CHECKED", at, messageID, storedAt, standing: "unanswered" };
    const answers = newest.value.filter((message) =>
      isAnswer(message, { messageID, storedAt, messages: newest.value }),
    );
    const isBusy = busy.value.has(parentSessionID);
    // An answer that stands still unfinished was cut off with its process.
    const answered = answers.some(({ completedAt }) => isBusy || completedAt !== undefined);
    // A busy parent that has the message will come to it: it reads its messages anew at every step.
    const open = isBusy ? "pending" : "unanswered";
    return { type: "CHECKED", at, messageID, storedAt, standing: answered ? "answered" : open };
  };

  /** The event that answers the effect; undefined for an effect that asks nothing of the host. */
  return async (effect: Effect): Promise<SupervisorEvent | undefined> => {
    switch (effect.type) {
      case "sendPrompt":
        return { type: "TASK", id: effect.prompt.sessionID, event: await prompt(effect) };
      case "checkRun":
        return { type: "TASK", id: effect.sessionID, event: await look(effect) };
      case "stopSession":
        return { type: "TASK", id: effect.sessionID, event: await stop(effect) };
      case "readParent":
        return { type: "OUTBOX", id: effect.parentSessionID, event: await read(effect) };
      case "sendNotice":
        return { type: "OUTBOX", id: effect.parentSessionID, event: await send(effect) };
      case "findParent":
        return { type: "OUTBOX", id: effect.parentSessionID, event: await search(effect) };
      case "checkNotice":
        return { type: "OUTBOX", id: effect.parentSessionID, event: await check(effect) };
      default:
        return undefined;
    }
  };
};
