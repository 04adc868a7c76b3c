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
