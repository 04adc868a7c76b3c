// ADR-243 in docs/decisions.md
/** What the plugin in a home directory takes from its satellites. */
export interface Home<Hooks, Event> {
  /** The started plugin; undefined where it cannot be started. */
  started(): Hooks | undefined;
  event(event: Event): Promise<void>;
}

/** The directories in which OpenCode has started the plugin in this process, and the worktrees that belong to each. */
export interface Homes<Hooks, Event> {
  /** Notes that the plugin is started in a directory. Returns what notes that it ended. */
  open(directory: string, home: Home<Hooks, Event>): () => void;
  of(directory: string): Home<Hooks, Event> | undefined;
  /** Resolves to the home in that directory once there is one. */
  whenOpen(directory: string): Promise<Home<Hooks, Event>>;
  /** Hands an event to a home. One that is to be opened yet gets it then. */
  tell(directory: string, event: Event): Promise<void>;
  /** Notes that the plugin serves a directory of a worktree. Returns what notes that it does no more. */
  join(satellite: string): () => void;
  isServed(satellite: string): boolean;
}

/** Events that are kept for a home. Where there are more, its engine finds by asking what it has missed. */
const MAX_KEPT = 1_000;

/** Creates the register of homes, one for the process. */
export const createHomes = <Hooks, Event>(): Homes<Hooks, Event> => {
  const homes = new Map<string, Home<Hooks, Event>>();
  const satellites = new Set<string>();
  const kept = new Map<string, Event[]>();
  const waiting = new Map<string, ((home: Home<Hooks, Event>) => void)[]>();

  /** Takes what is kept by a directory's name. */
  const take = <T>(from: Map<string, T[]>, directory: string): T[] => {
    const taken = from.get(directory) ?? [];
    from.delete(directory);
    return taken;
  };

  return {
    open: (directory, home) => {
      homes.set(directory, home);
      for (const event of take(kept, directory)) void home.event(event);
      for (const then of take(waiting, directory)) then(home);
      return () => {
        if (homes.get(directory) === home) homes.delete(directory);
      };
    },
    of: (directory) => homes.get(directory),
    whenOpen: (directory) => {
      const home = homes.get(directory);
      if (home) return Promise.resolve(home);
      return new Promise((resolve) => waiting.set(directory, [...(waiting.get(directory) ?? []), resolve]));
    },
    tell: async (directory, event) => {
      const home = homes.get(directory);
      if (home) return home.event(event);
      const events = kept.get(directory) ?? [];
      if (events.length < MAX_KEPT) kept.set(directory, [...events, event]);
    },
    join: (satellite) => {
      satellites.add(satellite);
      return () => void satellites.delete(satellite);
    },
    isServed: (satellite) => satellites.has(satellite),
  };
};
