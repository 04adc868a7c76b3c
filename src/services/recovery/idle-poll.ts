import type { Host } from "../host/host.ts";
import type { Clock } from "../platform/clock.ts";
import { repeat } from "../platform/interval.ts";
import type { Log } from "../platform/log.ts";
import type { Runtime } from "../runtime/runtime.ts";

/** Between two polls, in milliseconds: slow, for it only makes up for events that never came. */
const INTERVAL = 5_000;

/**
 * The fallback for missed events: asks, with one call for all tasks at work, which sessions are idle, and gives those
 * the hint that the host should have given. Returns how to stop.
 */
export const startIdlePoll = (
  runtime: Runtime,
  host: Host,
  clock: Clock,
  log: Log,
  awaitsTasks: (sessionID: string) => boolean,
): (() => void) => {
  const working = (): string[] =>
    runtime.liveTasks().flatMap((snapshot) => {
      const { sessionID } = snapshot.context.facts;
      return snapshot.hasTag("working") && !awaitsTasks(sessionID) ? sessionID : [];
    });

  const poll = async () => {
    if (working().length === 0) return;
    const busy = await host.busy();
    if (!busy.ok) return log.info("the host did not say what is busy", { reason: busy.failure.message });
    for (const sessionID of working()) {
      if (!busy.value.has(sessionID)) runtime.send(sessionID, { type: "HOST_IDLE", at: clock.now() });
    }
  };

  return repeat(clock, log, { every: INTERVAL, work: poll, fault: "a poll failed" });
};
