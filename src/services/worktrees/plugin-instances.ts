// OpenCode starts the plugin in each task's worktree, too, but a project has one engine: so the plugin there hands everything to
// the instance of its project's directory (docs/decisions/243-one-engine-per-project.md).

/** The plugin in a project's directory, for those in worktrees of that project's tasks. */
interface PluginInstance<Hooks, Event> {
  /** Returns the started plugin; undefined where it cannot be started. */
  started(): Hooks | undefined;
  event(event: Event): Promise<void>;
}

/** Events that are kept for a project without an instance. Where there are more, its engine finds by asking what it missed. */
const MAX_KEPT = 1_000;

/** Creates the register of the plugin's instances by project, and of the worktrees that are served: one for the process. */
export const createPluginInstances = <Hooks, Event>() => {
  type Instance = PluginInstance<Hooks, Event>;
  const instances = new Map<string, Instance>();
  const servedWorktrees = new Set<string>();
  const kept = new Map<string, Event[]>();
  const waiting = new Map<string, ((instance: Instance) => void)[]>();

  /** Returns what is kept by a project's directory, and forgets it. */
  const take = <T>(from: Map<string, T[]>, project: string): T[] => {
    const taken = from.get(project) ?? [];
    from.delete(project);
    return taken;
  };

  return {
    /** Registers the plugin in a project's directory. Returns the function to call when it ends. */
    open: (project: string, instance: Instance): (() => void) => {
      instances.set(project, instance);
      for (const event of take(kept, project)) void instance.event(event);
      for (const then of take(waiting, project)) then(instance);
      return () => {
        if (instances.get(project) === instance) instances.delete(project);
      };
    },
    of: (project: string): Instance | undefined => instances.get(project),
    /** Resolves to the instance in a project's directory once there is one. */
    whenOpen: (project: string): Promise<Instance> => {
      const instance = instances.get(project);
      if (instance) return Promise.resolve(instance);
      return new Promise((resolve) => waiting.set(project, [...(waiting.get(project) ?? []), resolve]));
    },
    /** Hands an event to the instance of a project. Where there is none yet, it gets the event when it is registered. */
    send: async (project: string, event: Event): Promise<void> => {
      const instance = instances.get(project);
      if (instance) return instance.event(event);
      const events = kept.get(project) ?? [];
      if (events.length < MAX_KEPT) kept.set(project, [...events, event]);
    },
    /** Notes that the plugin is started in a worktree. Returns the function to call when it ends there. */
    serve: (worktree: string): (() => void) => {
      servedWorktrees.add(worktree);
      return () => void servedWorktrees.delete(worktree);
    },
    isServed: (worktree: string): boolean => servedWorktrees.has(worktree),
  };
};
