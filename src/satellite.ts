// ADR-243 in docs/decisions.md
import type { Config, Hooks, PluginInput } from "@opencode-ai/plugin";
import type { PluginHooks, SatelliteTools } from "./plugin.ts";
import type { Homes } from "./services/worktrees/homes.ts";

/** What the plugin is started with in a task's worktree. */
export interface SatelliteDeps {
  input: PluginInput;
  /** The options as they stand in the worktree's configuration. */
  given: unknown;
  /** The directory whose engine supervises the worktree's tasks. */
  home: string;
  homes: Homes<PluginHooks, Parameters<PluginHooks["event"]>[0]>;
  /** Creates the tools that agents in the worktree get. */
  createTools(wanted: SatelliteTools): PluginHooks["tool"];
}

/** Starts the plugin in a task's worktree: it hands everything to the plugin in the home directory, and has no engine. */
export const startSatellite = ({ input, given, home, homes, createTools }: SatelliteDeps): Hooks => {
  const leave = homes.join(input.directory);
  let config: Config | undefined;
  // Where OpenCode opens the worktree first. Not awaited: OpenCode waits for this instance meanwhile.
  if (!homes.of(home)) input.client.project.current({ query: { directory: home } }).catch(() => undefined);
  const started = () => homes.of(home)?.started();
  return {
    // OpenCode reads this only once, perhaps before there is a home: then each call waits for it.
    get tool() {
      const plugin = async () => (await homes.whenOpen(home)).started();
      return createTools({ given, home, plugin, configuredAgents: () => config?.agent });
    },
    config: async (configured) => {
      config = configured;
    },
    event: (event) => homes.tell(home, event),
    "tool.execute.before": async (...args) => started()?.["tool.execute.before"](...args),
    "tool.execute.after": async (...args) => started()?.["tool.execute.after"](...args),
    "experimental.session.compacting": async (...args) => started()?.["experimental.session.compacting"](...args),
    "experimental.chat.messages.transform": async (...args) =>
      started()?.["experimental.chat.messages.transform"](...args),
    dispose: async () => leave(),
  };
};
