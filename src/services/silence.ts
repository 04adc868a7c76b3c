import type { Clock } from "./clock.ts";
import { type Log, reasonOf } from "./log.ts";
import type { ProgressLog } from "./progress.ts";
import type { Runtime } from "./runtime.ts";

/**
 * Notices when a child falls silent for `staleAfter` milliseconds, and when it is heard again, to within a quarter of
 * that. Returns how to stop.
 */
export const watchSilence = (
  runtime: Runtime,
  progress: ProgressLog,
  clock: Clock,
  log: Log,
  staleAfter: number,
): (() => void) => {
  const check = () => {
    for (const { context, value } of runtime.liveTasks()) {
      const { sessionID } = context.facts;
      const at = clock.now();
      const silent = at - (progress.heardAt(sessionID) ?? at) >= staleAfter;
      if (silent && value.attention === "none") runtime.send(sessionID, { type: "WENT_QUIET", at });
      if (!silent && value.attention === "stale") runtime.send(sessionID, { type: "HEARD", at });
    }
  };
  const next = (): (() => void) =>
    clock.after(staleAfter / 4, () => {
      try {
        check();
      } catch (error) {
        log.error("silence could not be checked", { reason: reasonOf(error) });
      }
      callOff = next();
    });
  let callOff = next();
  return () => callOff();
};
