// ADR-243 in docs/decisions.md
import type { Config, Hooks, PluginInput } from "@opencode-ai/plugin";
import type { PluginHooks, SatelliteTools } from "./plugin.ts";
import { type OpenedDirectory, showsWork } from "./services/host/read-directories.ts";
import type { Homes } from "./services/worktrees/homes.ts";

/** What the plugin is started with in a task's worktree. */
export interface SatelliteDeps {
  input: PluginInput;
  /** The options as they stand in the worktree's configuration. */
  given: unknown;
  /** The directory whose engine supervises the worktree's tasks. */
  home: string;
  homes: Homes<PluginHooks, Parameters<PluginHooks["event"]>[0]>;
  /** Knows whether the worktree was opened only to read something of it. */
  opened: OpenedDirectory;
  /** Creates the tools that agents in the worktree get. */
  createTools(wanted: SatelliteTools): PluginHooks["tool"];
}

/** Starts the plugin in a task's worktree: it hands everything to the plugin in the home directory, and has no engine. */
export const startSatellite = ({ input, given, home, homes, opened, createTools }: SatelliteDeps): Hooks => {
  const leave = homes.join(input.directory);
  let config: Config | undefined;
  // Where OpenCode opens the worktree first. Not awaited: OpenCode waits for this instance meanwhile.
  const openHome = () => {
    if (!homes.of(home)) input.client.project.current({ query: { directory: home } }).catch(() => undefined);
  };
  if (!opened.isOnlyRead()) openHome();
  const work = () => {
    if (opened.isOnlyRead()) openHome();
    opened.use();
  };
  const started = () => homes.of(home)?.started();
  return {
    // OpenCode reads this only once, perhaps before there is a home: then each call waits for it.
    get tool() {
      work();
      const plugin = async () => (await homes.whenOpen(home)).started();
      return createTools({ given, home, plugin, configuredAgents: () => config?.agent });
    },
    config: async (configured) => {
      config = configured;
    },
    event: async (event) => {
      if (showsWork(event.event.type)) work();
      if (!opened.isOnlyRead()) await homes.tell(home, event);
    },
    "tool.execute.before": async (...args) => started()?.["tool.execute.before"](...args),
    "tool.execute.after": async (...args) => started()?.["tool.execute.after"](...args),
    "experimental.session.compacting": async (...args) => started()?.["experimental.session.compacting"](...args),
    "experimental.chat.messages.transform": async (...args) =>
      started()?.["experimental.chat.messages.transform"](...args),
    dispose: async () => {
      opened.close();
      leave();
    },
  };
};
