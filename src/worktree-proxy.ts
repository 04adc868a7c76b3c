// A session's events, hooks and tools reach only the plugin of its own directory, and a project has one engine
// (docs/decisions/243-one-engine-per-project.md).
import type { Config, Hooks, PluginInput } from "@opencode-ai/plugin";
import type { PluginHooks, ProxyTools } from "./plugin.ts";
import { type OpenedDirectory, showsWork } from "./services/host/directories.ts";
import type { PluginInstances } from "./services/worktrees/plugin-instances.ts";

/** Where a worktree's proxy passes everything on to. */
interface ProxiedPlugin {
  input: PluginInput;
  /** The options as they stand in the worktree's configuration. */
  given: unknown;
  /** The project directory, whose engine supervises the worktree's tasks. */
  project: string;
  instances: PluginInstances<PluginHooks, Parameters<PluginHooks["event"]>[0]>;
  /** Knows whether the worktree was opened only to read something of it. */
  opened: OpenedDirectory;
  /** Creates the tools that agents in the worktree get. */
  createTools(wanted: ProxyTools): PluginHooks["tool"];
}

/**
 * Starts the plugin in a task's worktree as a proxy of the plugin in the project directory: a project has one engine, which
 * supervises all its tasks (docs/decisions/243-one-engine-per-project.md).
 */
export const startWorktreeProxy = ({ input, given, project, instances, opened, createTools }: ProxiedPlugin): Hooks => {
  const leave = instances.serve(input.directory);
  let config: Config | undefined;
  // Where OpenCode opens the worktree first. Not awaited: OpenCode waits for this instance meanwhile.
  const openProject = () => {
    if (!instances.of(project)) input.client.project.current({ query: { directory: project } }).catch(() => undefined);
  };
  if (!opened.isOnlyRead()) openProject();
  const work = () => {
    if (opened.isOnlyRead()) openProject();
    opened.use();
  };
  const started = () => instances.of(project)?.started();
  return {
    // OpenCode reads this only once, perhaps before the project directory is open: then each call waits for that.
    get tool() {
      work();
      const plugin = async () => (await instances.whenOpen(project)).started();
      return createTools({ given, project, plugin, configuredAgents: () => config?.agent });
    },
    config: async (configured) => {
      config = configured;
    },
    event: async (event) => {
      if (showsWork(event.event.type)) work();
      if (!opened.isOnlyRead()) await instances.send(project, event);
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
