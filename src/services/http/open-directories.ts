import type { Engine } from "../engine/engine.ts";
import type { Host } from "../host/host.ts";
import { createListeners } from "../platform/listeners.ts";
import type { Store } from "../store/store.ts";

/** One directory that OpenCode has open in this process. */
export interface OpenDirectory {
  engine: Engine;
  store: Store;
  host: Host;
}

/** The directories that are open in this process. */
export type OpenDirectories = ReturnType<typeof createOpenDirectories>;

/** Creates the list of open directories. */
export const createOpenDirectories = () => {
  const directories = new Set<OpenDirectory>();
  const changes = createListeners();
  return {
    all: (): readonly OpenDirectory[] => [...directories],
    /** Adds a directory; returns a function that removes it. */
    add: (directory: OpenDirectory) => {
      directories.add(directory);
      const unsubscribe = directory.engine.subscribe(changes.notify);
      return () => {
        unsubscribe();
        directories.delete(directory);
      };
    },
    /** Calls the listener after each change of a task in any of them; returns a function that removes it. */
    onChange: changes.add,
  };
};
