import type { PluginInput } from "@opencode-ai/plugin";
import type { Log } from "../platform/log.ts";
import type { ClosableHost } from "./closable-host.ts";

/**
 * Writes to OpenCode's log, under the name of a service. A line that cannot be written is dropped: a log that fails must
 * not fail a task, and a call to a closed host would open its directory again.
 */
export const createOpencodeLog = (
  service: string,
  client: PluginInput["client"],
  host: Pick<ClosableHost, "isClosed">,
): Log => {
  const write = (level: "info" | "error") => (message: string, extra?: Record<string, unknown>) => {
    if (host.isClosed()) return;
    const body = { service, level, message, ...(extra ? { extra } : {}) };
    client.app.log({ body }).catch(() => undefined);
  };
  return { info: write("info"), error: write("error") };
};
