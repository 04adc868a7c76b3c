import type { Clock } from "../platform/clock.ts";
import { repeat } from "../platform/interval.ts";
import type { Log } from "../platform/log.ts";
import type { ProgressLog } from "../runtime/progress.ts";
import type { Runtime } from "../runtime/runtime.ts";

/**
 * Notices when a child falls silent for `staleAfter` milliseconds, and when it is heard again, to within a quarter of
 * that. One that has tasks of its own under way waits for them: those are to be heard. Returns how to stop.
 */
export const startStaleCheck = (
  runtime: Runtime,
  progress: ProgressLog,
  clock: Clock,
  log: Log,
  staleAfter: number,
): (() => void) => {
  const check = () => {
    const live = runtime.liveTasks();
    const leads = new Set(live.map(({ context }) => context.facts.parentTaskId));
    for (const { context, value } of live) {
      const { sessionID } = context.facts;
      const at = clock.now();
      const silent = !leads.has(sessionID) && at - (progress.heardAt(sessionID) ?? at) >= staleAfter;
      if (silent && value.attention === "none") runtime.send(sessionID, { type: "BECAME_STALE", at });
      if (!silent && value.attention === "stale") runtime.send(sessionID, { type: "ACTIVITY_SEEN", at });
    }
  };
  return repeat(clock, log, { every: staleAfter / 4, work: check, fault: "silence could not be checked" });
};
