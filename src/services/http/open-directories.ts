import type { Engine } from "../engine.ts";
import type { Host } from "../host/host.ts";
import type { Store } from "../store/store.ts";

/** One directory that OpenCode has open in this process. */
export interface OpenDirectory {
  engine: Engine;
  store: Store;
  host: Host;
}

/** The directories that are open in this process. */
export interface OpenDirectories {
  all(): readonly OpenDirectory[];
  /** Returns how to take it out again. */
  add(site: OpenDirectory): () => void;
  /** Calls the listener whenever a task of any of them changed. */
  onChange(listener: () => void): () => void;
}

/** None is open yet. */
export const createOpenDirectories = (): OpenDirectories => {
  const sites = new Set<OpenDirectory>();
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
