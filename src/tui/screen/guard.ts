import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { errorMessage } from "../../services/platform/log.ts";

/** Messages that are remembered, so that one that is drawn again each second is written once. */
const MAX_REMEMBERED = 100;

/**
 * Creates what keeps faults of the panel from disturbing OpenCode's interface: they are written to OpenCode's log, under the
 * name `service`.
 */
export const createGuard = (api: Pick<TuiPluginApi, "client">, service: string) => {
  const reported = new Set<string>();

  const report = (what: string, error: unknown): void => {
    const message = `${what}: ${errorMessage(error)}`;
    if (reported.has(message) || reported.size >= MAX_REMEMBERED) return;
    reported.add(message);
    const entry = { service, level: "error" as const, message };
    api.client.app.log(entry).catch(() => {
      // OpenCode itself is gone or out of reach: nobody is left to hear of it, and drawing must go on.
      reported.delete(message);
    });
  };

  /** Returns what `work` returns; `otherwise` if it throws. */
  const guard = <T>(what: string, work: () => T, otherwise: T): T => {
    try {
      return work();
    } catch (error) {
      report(what, error);
      return otherwise;
    }
  };

  /** Starts work whose end nobody waits for. */
  const start = (what: string, work: () => Promise<unknown>): void => {
    const run = async () => {
      try {
        await work();
      } catch (error) {
        report(what, error);
      }
    };
    void run();
  };

  return Object.assign(guard, { start, report });
};
export type Guard = ReturnType<typeof createGuard>;
