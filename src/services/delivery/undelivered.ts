// ADR-020 in docs/decisions.md
import type { Effect } from "../../machines/supervisor/events.ts";
import type { Task } from "../../task.ts";
import type { Host } from "../host/host.ts";
import type { Log } from "../platform/log.ts";
import { truncateLine } from "../platform/plain-text.ts";

/** The log message of a notice that is given up. */
export const NOTICE_GIVEN_UP = "a notice was given up: OpenCode refused it each time";

/** Characters of a task's description in a toast. */
const DESCRIPTION_CHARS = 60;

/** Characters of OpenCode's reason in a toast. */
const REASON_CHARS = 160;

/**
 * Creates a function that reports, once, that a notice is given up: in the log with all details, and to the user in a
 * toast. The tasks need no further work then, and their results are kept.
 */
export const createUndeliveredReport =
  (host: Host, log: Log, taskOf: (taskId: string) => Task | undefined) =>
  async ({ parentSessionID, runs, reason }: Extract<Effect, { type: "noticeRejected" }>): Promise<undefined> => {
    const taskIds = runs.map(({ taskId }) => taskId);
    log.error(NOTICE_GIVEN_UP, { parentSessionID, runs, reason });
    const [first = "", ...others] = taskIds;
    const name = `"${truncateLine(taskOf(first)?.description ?? first, DESCRIPTION_CHARS)}"`;
    const tasks = others.length === 0 ? `task ${name}` : `task ${name} and ${others.length} more`;
    const kept = others.length === 0 ? "its result is" : "their results are";
    const message = `The agent could not be told that ${tasks} ended; ${kept} kept. OpenCode said: ${truncateLine(reason, REASON_CHARS)}`;
    const shown = await host.toast({ message, variant: "error" });
    if (!shown.ok) log.info("a toast could not be shown", { reason: shown.failure.message });
  };
