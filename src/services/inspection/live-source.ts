/** Something that can be watched live. What it shows is numbered, so that a reader can ask for what has come since. */
export interface LiveSource {
  /** True while some directory of this process has it switched on. */
  isOn(): boolean;
  /** Everything after that number; after 0: all that is kept, whatever a newcomer needs included. */
  since(number: number): { upTo: number };
  /** Calls the listener after each change. Returns how to stop that. */
  onChange(listener: () => void): () => void;
}

/** Those who want to know of changes. */
export interface Listeners {
  add(listener: () => void): () => void;
  tell(): void;
}

/** Nobody yet. */
export const createListeners = (): Listeners => {
  const listeners = new Set<() => void>();
  return {
    add: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    tell: () => {
      for (const listener of listeners) listener();
    },
  };
};
