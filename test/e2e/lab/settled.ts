import type { RecordedEvent } from "./events.ts";

/**
 * Whether a session has come to rest, by its own events.
 *
 * The status "idle" alone does not say so: after a model error or an abort OpenCode reports it once while the run is still
 * being wound up, and a prompt sent then is never answered. So the answers must be complete too; except when an error
 * followed the last idle, for then nothing completes them any more.
 *
 * @param events everything that was recorded of this session, in order
 * @param since only a run that was seen busy after this time (epoch milliseconds) counts
 */
export function isSettled(events: RecordedEvent[], since: number): boolean {
  const statuses = events.filter((event) => event.type === "session.status");
  const ranSince = statuses.some((event) => event.at >= since && event.properties.status.type === "busy");
  const last = statuses.at(-1);
  if (!ranSince || last?.properties.status.type !== "idle") return false;
  const failedSince = events.slice(events.indexOf(last)).some((event) => event.type === "session.error");
  return failedSince || openAnswers(events).size === 0;
}

/** The assistant messages that have begun and not ended. */
function openAnswers(events: RecordedEvent[]): Set<string> {
  const open = new Set<string>();
  for (const event of events) {
    if (event.type !== "message.updated" || event.properties.info.role !== "assistant") continue;
    if (event.properties.info.time.completed === undefined) open.add(event.properties.info.id);
    else open.delete(event.properties.info.id);
  }
  return open;
}
