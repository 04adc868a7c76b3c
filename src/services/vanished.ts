import type { Clock } from "./clock.ts";
import type { Host } from "./host.ts";
import type { Log } from "./log.ts";
import type { ProgressLog } from "./progress.ts";
import { repeat } from "./recurring.ts";
import type { Runtime } from "./runtime.ts";

/** Between two looks, in milliseconds. Sessions that were heard since the last one are not asked for. */
const INTERVAL = 60_000;

/** What the looks are made with. */
export interface VanishedParts {
  runtime: Runtime;
  progress: ProgressLog;
  host: Host;
  clock: Clock;
  log: Log;
  /** The session of a running task is not there any more. */
  onVanished(sessionID: string): void;
}

/**
 * The fallback for deletions that nobody told of: another OpenCode on the same data may delete a session that works
 * here. It would go on working, and one that waits for a person would wait for ever. Returns how to stop.
 */
export const watchVanished = ({ runtime, progress, host, clock, log, onVanished }: VanishedParts): (() => void) => {
  const silent = (): string[] =>
    runtime.liveTasks().flatMap(({ context }) => {
      const { sessionID } = context.facts;
      const heardAt = progress.heardAt(sessionID) ?? 0;
      return context.completedAt === undefined && clock.now() - heardAt >= INTERVAL ? sessionID : [];
    });

  const look = async () => {
    for (const sessionID of silent()) {
      const session = await host.session(sessionID);
      if (!session.ok && session.failure.kind === "notFound" && runtime.live(sessionID)) onVanished(sessionID);
    }
  };

  return repeat(clock, log, { every: INTERVAL, work: look, fault: "vanished sessions could not be looked for" });
};
