// What OpenCode starts: OpenCode 1 calls `server`, OpenCode 2 `setup`.
import type { Plugin } from "@opencode-ai/plugin";
import { startPluginIn } from "./shared-start.ts";
import { SERVICE } from "./start.ts";

const server: Plugin = async (input, given) => startPluginIn(input, given);

const REFUSAL =
  "opencode-taskchart works with OpenCode 1 (1.18.29 or newer), and not with OpenCode 2 yet: it does nothing here. OpenCode itself is not affected.";

/**
 * What OpenCode 2 calls where OpenCode 1 calls `server`. Without it, OpenCode 2 would refuse the plugin for the form of its
 * module, which tells nobody what to do. OpenCode 1 calls it as well, from a second core (seen in 1.18.33): that passes no
 * `session`.
 * @throws Error in OpenCode 2, which disables this plugin alone and logs the message (seen in a build of August 2026)
 */
const setup = (context: unknown): void => {
  if (typeof context === "object" && context !== null && "session" in context) throw new Error(REFUSAL);
};

export default { id: SERVICE, server, setup };
