import type { Clock } from "./clock.ts";
import type { ProgressLog } from "./progress.ts";
import type { Runtime } from "./runtime.ts";

/** Notices when a child falls silent, and when it is heard again. Returns how to stop. */
export const watchSilence = (runtime: Runtime, progress: ProgressLog, clock: Clock, staleAfter: number) => {
  const check = () => {
    for (const { context, value } of runtime.liveTasks()) {
      const { sessionID } = context.facts;
      const at = clock.now();
      const silent = at - (progress.heardAt(sessionID) ?? at) >= staleAfter;
      if (silent && value.attention === "none") runtime.send(sessionID, { type: "WENT_QUIET", at });
      if (!silent && value.attention === "stale") runtime.send(sessionID, { type: "HEARD", at });
    }
    callOff = clock.after(staleAfter / 4, check);
  };
  let callOff = clock.after(staleAfter / 4, check);
  return () => callOff();
};
