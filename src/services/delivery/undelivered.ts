import type { Effect } from "../../machines/supervisor/events.ts";
import type { Task } from "../../task.ts";
import type { Host } from "../host/host.ts";
import type { Log } from "../platform/log.ts";
import { truncateLine } from "../text/single-line.ts";

/** What the log says of it. */
export const GIVEN_UP = "a notice was given up: OpenCode refused it each time";

/** Characters of a description, and of what OpenCode said, in a toast. */
const DESCRIPTION = 60;
const REASON = 160;

/**
 * Says that a notice is given up, once: in the log with all that is known, and to the person in a few words. The tasks are
 * at rest then, and their results stay.
 */
export const createUndeliveredReport =
  (host: Host, log: Log, taskOf: (taskId: string) => Task | undefined) =>
  async ({ parentSessionID, runs, reason }: Extract<Effect, { type: "noticeRejected" }>): Promise<undefined> => {
    const taskIds = runs.map(({ taskId }) => taskId);
    log.error(GIVEN_UP, { parentSessionID, runs, reason });
    const [first = "", ...others] = taskIds;
    const name = `"${truncateLine(taskOf(first)?.description ?? first, DESCRIPTION)}"`;
    const which = others.length === 0 ? `task ${name}` : `task ${name} and ${others.length} more`;
    const message = `The agent could not be told that ${which} ended; what came of it is kept. OpenCode said: ${truncateLine(reason, REASON)}`;
    const shown = await host.toast({ message, variant: "error" });
    if (!shown.ok) log.info("a toast could not be shown", { reason: shown.failure.message });
  };
