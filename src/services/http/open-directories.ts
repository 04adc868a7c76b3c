import type { Engine } from "../engine.ts";
import type { Host } from "../host/host.ts";
import type { Store } from "../store/store.ts";

/** One directory that OpenCode has open in this process. */
export interface Site {
  engine: Engine;
  store: Store;
  host: Host;
}

/** The directories that are open in this process. */
export interface Sites {
  all(): readonly Site[];
  /** Returns how to take it out again. */
  add(site: Site): () => void;
  /** Calls the listener whenever a task of any of them changed. */
  onChange(listener: () => void): () => void;
}

/** None is open yet. */
export const createSites = (): Sites => {
  const sites = new Set<Site>();
  const listeners = new Set<() => void>();
  return {
    all: () => [...sites],
    add: (site) => {
      sites.add(site);
      const unsubscribe = site.engine.subscribe(() => {
        for (const listener of listeners) listener();
      });
      return () => {
        unsubscribe();
        sites.delete(site);
      };
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
};
