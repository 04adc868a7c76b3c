import type { Store, TaskRecord } from "../../../src/services/store/store.ts";

/** What a server has stored of its tasks, read anew only where it may have changed: the checks ask for it all the time. */
export type Records = ReturnType<typeof createRecords>;

/** Calls that change no task. */
const HARMLESS: ReadonlySet<string> = new Set<keyof Store>([
  ...(["get", "list", "below", "countOf", "journal", "isOwnedElsewhere", "otherSupervisor", "isAttended"] as const),
  ...(["isAlone", "places", "heartbeat", "storeProgress"] as const),
]);

/** How often a process looks, at its start, whether one before it has left tasks. */
const ADOPTIONS = 3;

/** Creates the records of a server. */
export const createRecords = () => {
  let store: Store | undefined;
  let known: readonly TaskRecord[] | undefined;
  return {
    /** Returns the store of a process, which is watched from now on. */
    watch: (opened: Store): Store => {
      store = opened;
      known = undefined;
      let adoptions = 0;
      // Nobody else opens this store: who is alive need not be written down, and nobody dies later than before the start.
      const alone: Partial<Store> = {
        heartbeat: () => [],
        adopt: (...asked) => {
          adoptions += 1;
          return adoptions > ADOPTIONS ? { tasks: [], prompts: [], launches: [] } : opened.adopt(...asked);
        },
      };
      return new Proxy(opened, {
        get: (target, name, receiver) => {
          const member: unknown = Reflect.get(name in alone ? alone : target, name, receiver);
          if (typeof member !== "function" || HARMLESS.has(String(name))) return member;
          return (...asked: unknown[]) => {
            known = undefined;
            return member.apply(target, asked);
          };
        },
      });
    },
    all: (): readonly TaskRecord[] => {
      const from = store;
      if (!from) return [];
      known ??= from.list({}).flatMap(({ sessionID }) => from.get(sessionID) ?? []);
      return known;
    },
  };
};
