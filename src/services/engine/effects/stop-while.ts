import { TASK_LIMITS } from "../../../machines/task/setup.ts";
import type { Host } from "../../host/host.ts";
import { type Clock, sleep } from "../../platform/clock.ts";

/**
 * Stops what a prompt begins here, though another process took its task over, or removed it, while the prompt was on its
 * way: the work would be done twice. The session begins to work a moment after the host has taken the prompt.
 */
export const stopWhile = async (
  host: Pick<Host, "abort">,
  clock: Clock,
  sessionID: string,
  isLost: () => boolean,
): Promise<void> => {
  for (let attempt = 0; attempt < TASK_LIMITS.stopAttempts && isLost(); attempt += 1) {
    await host.abort(sessionID);
    await sleep(clock, TASK_LIMITS.stopAgainAfter);
  }
};
