// ADR-028 in docs/decisions.md
import { TASK_LIMITS } from "../../machines/task/setup.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Host, HostResult } from "./host.ts";

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
