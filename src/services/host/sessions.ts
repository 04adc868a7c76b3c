// Questions about a session that take more than one call of the host to answer, since no single answer of it is proof
// (docs/decisions/028-not-found-once-removes-nothing.md, docs/decisions/267-a-conversation-that-was-set-aside.md).
import type { HostSession, SetAside } from "../../machines/host-events.ts";
import { TASK_LIMITS } from "../../machines/task/setup.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Host, HostFailure, HostResult } from "./host.ts";

/**
 * Checks whether a session is deleted: the host neither finds it nor lists it among all sessions. A 404 alone can have
 * other causes. Before removing anything for good, check twice with a pause in between.
 */
export const isDeleted = async (host: Host, sessionID: string): Promise<HostResult<boolean>> => {
  const session = await host.session(sessionID);
  if (session.ok) return { ok: true, value: false };
  if (session.failure.kind !== "notFound") return session;
  const all = await host.allSessions();
  return all.ok ? { ok: true, value: !all.value.has(sessionID) } : all;
};

/**
 * Creates a function that aborts a session. An abort that the host does not confirm may have had no effect,
 * so it is repeated as often as for a cancelled task; after the last attempt the function gives up.
 */
export const createSessionAborter =
  (host: Host, clock: Clock, log: Log) =>
  async (sessionID: string): Promise<void> => {
    for (let attempt = 1; ; attempt += 1) {
      const aborted = await host.abort(sessionID);
      if (aborted.ok || aborted.failure.kind === "notFound") return;
      log.error("could not abort a session", { sessionID, attempt, reason: aborted.failure.message });
      if (attempt === TASK_LIMITS.stopAttempts) return;
      await sleep(clock, TASK_LIMITS.stopAgainAfter);
    }
  };

const ok = (value: SetAside | undefined): HostResult<SetAside | undefined> => ({ ok: true, value });

/**
 * Returns why nothing is to be sent to a conversation now; undefined where something may be. A prompt takes no
 * conversation out of the archive, so one that was prompted after it was archived counts as in use: it is read for that.
 */
export const whySetAside = async (
  host: Pick<Host, "messages" | "message">,
  { id, isReverted, archivedAt }: HostSession,
): Promise<HostResult<SetAside | undefined>> => {
  if (isReverted) return ok("reverted");
  if (archivedAt === undefined) return ok(undefined);
  const newest = await host.messages(id, 1);
  if (!newest.ok) return newest;
  const [message] = newest.value;
  if (!message) return ok("archived");
  const prompt = message.promptID === undefined ? undefined : await host.message(id, message.promptID);
  if (prompt && !prompt.ok && prompt.failure.kind !== "notFound") return prompt;
  const promptedAt = prompt?.ok ? prompt.value.createdAt : message.createdAt;
  return ok(promptedAt > archivedAt ? undefined : "archived");
};

/** Returns why the first of several calls failed that did; undefined where none did. */
export const firstFailure = (results: HostResult<unknown>[]): HostFailure | undefined =>
  results.find((result) => !result.ok)?.failure;

/** Treats "not found" as success, for calls that abort or reject. */
export const okIfNotFound = (result: HostResult<unknown>): HostResult<unknown> =>
  !result.ok && result.failure.kind === "notFound" ? { ok: true, value: undefined } : result;
