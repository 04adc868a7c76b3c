import type { OutboxEvent } from "../machines/outbox-events.ts";
import type { Effect, SupervisorEvent } from "../machines/supervisor-events.ts";
import type { TaskEvent } from "../machines/task-events.ts";
import type { TaskError } from "../task.ts";
import type { Clock } from "./clock.ts";
import type { Host, HostFailure, HostResult } from "./host.ts";
import { settle } from "./settle.ts";
import type { Sightings } from "./sightings.ts";

type Of<Type extends Effect["type"]> = Extract<Effect, { type: Type }>;

/** Messages that a look reads at first. A run's end and its text are nearly always in the newest one. */
const FEW = 4;
const MANY = 200;

const asError = ({ name, message }: HostFailure): TaskError => ({ name, kind: "host", message });

/** Everything below a session, itself first. What cannot be listed is left out: stopping the rest still helps. */
const withDescendants = async (host: Host, sessionID: string): Promise<string[]> => {
  const children = await host.children(sessionID);
  if (!children.ok) return [sessionID];
  const below = await Promise.all(children.value.map((child) => withDescendants(host, child)));
  return [sessionID, ...below.flat()];
};

const firstFailure = (results: HostResult<unknown>[]): HostFailure | undefined =>
  results.find((result) => !result.ok)?.failure;

/** Does what tasks and outboxes request of the host, and says with an event how it went. Never throws. */
export const createEffects = (host: Host, clock: Clock, sightings: Sightings) => {
  const prompt = async ({ prompt }: Of<"prompt">): Promise<TaskEvent> => {
    const sent = await host.prompt(prompt);
    const at = clock.now();
    if (sent.ok) return { type: "PROMPT_ACCEPTED", at };
    if (sent.failure.kind === "notFound") return { type: "SESSION_GONE", at };
    return {
      type: "PROMPT_REFUSED",
      at,
      error: asError(sent.failure),
      retryable: sent.failure.kind === "unavailable",
    };
  };

  const look = async ({ sessionID, messageID, look, hostError }: Of<"look">): Promise<TaskEvent> => {
    const failed = ({ failure }: { failure: HostFailure }): TaskEvent =>
      failure.kind === "notFound"
        ? { type: "SESSION_GONE", at: clock.now() }
        : { type: "LOOK_FAILED", at: clock.now(), look, error: asError(failure) };
    const told = sightings.answerOf(sessionID, messageID);
    if (told) return { type: "LOOKED_ANSWERED", at: clock.now(), look, ...told };
    const busy = await host.busy();
    if (!busy.ok) return failed(busy);
    if (busy.value.has(sessionID)) return { type: "LOOKED_BUSY", at: clock.now(), look };
    let seen = await host.messages(sessionID, FEW);
    if (!seen.ok) return failed(seen);
    let standing = settle({ busy: false, messages: seen.value, messageID, hostError });
    if (standing.is === "answered" && standing.result === "" && seen.value.length === FEW) {
      seen = await host.messages(sessionID, MANY);
      if (!seen.ok) return failed(seen);
      standing = settle({ busy: false, messages: seen.value, messageID, hostError });
    }
    const at = clock.now();
    switch (standing.is) {
      case "busy":
        return { type: "LOOKED_BUSY", at, look };
      case "answered":
        return { type: "LOOKED_ANSWERED", at, look, completedAt: standing.completedAt, result: standing.result };
      case "failed":
        return { type: "LOOKED_FAILED", at, look, completedAt: standing.completedAt ?? at, error: standing.error };
      case "aborted":
        return { type: "LOOKED_ABORTED", at, look, completedAt: standing.completedAt ?? at };
      case "unanswered":
        return { type: "LOOKED_UNANSWERED", at, look };
    }
  };

  const stop = async ({ sessionID, messageID, requests }: Of<"stop">): Promise<TaskEvent> => {
    const sessions = await withDescendants(host, sessionID);
    const aborted = await Promise.all(sessions.map((session) => host.abort(session)));
    // An abort leaves the child's open requests listed for ever.
    await Promise.all(requests.map((request) => host.reject(request)));
    const [prompted, busy] = await Promise.all([host.message(sessionID, messageID), host.busy()]);
    const at = clock.now();
    const failure = firstFailure([...aborted, busy, prompted]);
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

  const read = async ({ parentSessionID }: Of<"read">): Promise<OutboxEvent> => {
    const parent = await host.session(parentSessionID);
    const at = clock.now();
    if (parent.ok) return { type: "PARENT_READ", at, sender: { agent: parent.value.agent, model: parent.value.model } };
    if (parent.failure.kind === "notFound") return { type: "PARENT_GONE", at };
    return { type: "READ_FAILED", at, message: parent.failure.message };
  };

  const send = async ({ parentSessionID, prompt, sender }: Of<"send">): Promise<OutboxEvent> => {
    const { messageID, parts } = prompt;
    const sent = await host.prompt({ sessionID: parentSessionID, messageID, parts, ...sender });
    const at = clock.now();
    if (sent.ok) return { type: "SENT", at, messageID };
    if (sent.failure.kind === "notFound") return { type: "PARENT_GONE", at };
    return { type: "SEND_REFUSED", at, messageID, message: sent.failure.message };
  };

  const check = async ({ parentSessionID, messageID }: Of<"check">): Promise<OutboxEvent> => {
    const [seen, busy] = await Promise.all([host.messages(parentSessionID, MANY), host.busy()]);
    const at = clock.now();
    if (!seen.ok || !busy.ok) {
      const failure = firstFailure([seen, busy]);
      if (failure?.kind === "notFound") return { type: "PARENT_GONE", at };
      return { type: "CHECK_FAILED", at, messageID, message: failure?.message ?? "" };
    }
    const answered = seen.value.some(({ role, promptID }) => role === "assistant" && (promptID ?? "") >= messageID);
    if (answered) return { type: "CHECKED", at, messageID, standing: "answered" };
    const stored = seen.value.some(({ id }) => id === messageID);
    // A busy parent that has the message will come to it; the host reads its messages anew at every step.
    return {
      type: "CHECKED",
      at,
      messageID,
      standing: stored && busy.value.has(parentSessionID) ? "pending" : "unanswered",
    };
  };

  /** The event that answers the effect; undefined for an effect that asks nothing of the host. */
  return async (effect: Effect): Promise<SupervisorEvent | undefined> => {
    switch (effect.type) {
      case "prompt":
        return { type: "TASK", id: effect.prompt.sessionID, event: await prompt(effect) };
      case "look":
        return { type: "TASK", id: effect.sessionID, event: await look(effect) };
      case "stop":
        return { type: "TASK", id: effect.sessionID, event: await stop(effect) };
      case "read":
        return { type: "OUTBOX", id: effect.parentSessionID, event: await read(effect) };
      case "send":
        return { type: "OUTBOX", id: effect.parentSessionID, event: await send(effect) };
      case "check":
        return { type: "OUTBOX", id: effect.parentSessionID, event: await check(effect) };
      default:
        return undefined;
    }
  };
};
