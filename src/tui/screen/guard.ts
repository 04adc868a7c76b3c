import type { TuiPluginApi } from "@opencode-ai/plugin/tui";
import { errorMessage } from "../../services/platform/log.ts";

/** Keeps faults of the panel from disturbing OpenCode's interface. */
export interface Guard {
  /** Returns what `work` returns; `otherwise` if it throws, which is written to OpenCode's log. */
  <T>(what: string, work: () => T, otherwise: T): T;
  /** Starts work whose end nobody waits for. What it throws is written to OpenCode's log. */
  start(what: string, work: () => Promise<unknown>): void;
  /** Writes to OpenCode's log. */
  report(what: string, error: unknown): void;
}

/** Messages that are remembered, so that one that is drawn again each second is written once. */
const MAX_REMEMBERED = 100;

/** Creates the guard of a plugin, which writes to OpenCode's log under the name `service`. */
export const createGuard = (api: Pick<TuiPluginApi, "client">, service: string): Guard => {
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

  const guard = <T>(what: string, work: () => T, otherwise: T): T => {
    try {
      return work();
    } catch (error) {
      report(what, error);
      return otherwise;
    }
  };

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
