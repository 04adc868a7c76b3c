import { TASK_LIMITS } from "../../machines/task/setup.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Host, HostResult } from "./host.ts";

/**
 * Whether a session is deleted, as far as the host says: it does not find it, nor is it in the list of all sessions. A
 * 404 alone has other causes. Whoever removes something for good on that asks twice, with a pause in between.
 */
export const isDeleted = async (host: Host, sessionID: string): Promise<HostResult<boolean>> => {
  const session = await host.session(sessionID);
  if (session.ok) return { ok: true, value: false };
  if (session.failure.kind !== "notFound") return session;
  const all = await host.allSessions();
  return all.ok ? { ok: true, value: !all.value.has(sessionID) } : all;
};

/**
 * Aborts sessions that shall work no more. An abort that the host does not confirm may not have come through: it is sent
 * again, as often as for a task that is cancelled.
 */
export const createSessionAborter =
  (host: Host, clock: Clock, log: Log) =>
  async (sessionID: string): Promise<void> => {
    for (let tries = 1; ; tries += 1) {
      const aborted = await host.abort(sessionID);
      if (aborted.ok || aborted.failure.kind === "notFound") return;
      log.error("a session could not be aborted", { sessionID, tries, reason: aborted.failure.message });
      if (tries === TASK_LIMITS.stopAttempts) return;
      await sleep(clock, TASK_LIMITS.stopAgainAfter);
    }
  };
