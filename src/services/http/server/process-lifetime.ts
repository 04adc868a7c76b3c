interface Stoppable {
  stop(): Promise<void>;
}

/** An instance, and how many users it has. */
interface Shared<T> {
  users: number;
  instance: Promise<T>;
}

interface Slot<T> {
  current: Shared<T> | undefined;
  /** Settles when the previous instance has stopped: its port is free then. */
  stopped: Promise<unknown>;
}

/** All copies of this module in the process find the slot by it: the host may load the plugin once for each directory. */
const KEY = Symbol.for("opencode-taskchart.status-server");

const processSlot = <T>(): Slot<T> => {
  const globals = globalThis as { [KEY]?: Slot<T> };
  globals[KEY] ??= { current: undefined, stopped: Promise.resolve() };
  return globals[KEY];
};

/**
 * Returns this process's shared instance, and starts it for its first user. The last user's `stop` stops it, so that it
 * does not outlive the plugin: the host disposes of that and loads it again when its configuration changes, and the new
 * one must not be served from the old one's source.
 */
export const acquireShared = async <T extends Stoppable>(start: () => Promise<T>): Promise<T> => {
  const slot = processSlot<T>();
  slot.current ??= { users: 0, instance: slot.stopped.then(start) };
  const shared = slot.current;
  shared.users += 1;
  let isReleased = false;

  /** Gives up this user's share. Returns true for the last user. */
  const release = (): boolean => {
    if (isReleased) return false;
    isReleased = true;
    shared.users -= 1;
    if (shared.users > 0) return false;
    if (slot.current === shared) slot.current = undefined;
    return true;
  };

  try {
    const instance = await shared.instance;
    const stop = async () => {
      if (!release()) return;
      const stopping = instance.stop();
      slot.stopped = stopping.catch(() => undefined);
      await stopping;
    };
    return { ...instance, stop };
  } catch (error) {
    release();
    throw error;
  }
};

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Calls `cleanUp` when the process exits or gets SIGINT or SIGTERM, and after a signal also `finish`. The process then
 * exits just as it would have without this. Returns a function that removes the hook.
 *
 * A listener for a signal replaces its default action, which is to end the process. So if nothing else listens, the
 * signal is sent once more after `finish`, without our listener; if something else does, it decides whether to exit.
 */
export const onProcessExit = (cleanUp: () => void, finish: () => Promise<void>): (() => void) => {
  const onSignal = (signal: NodeJS.Signals) => {
    remove();
    // Checked before other listeners have run: one that was added by `once` is gone afterwards.
    const hasOtherListeners = process.listenerCount(signal) > 0;
    cleanUp();
    const exit = () => {
      if (!hasOtherListeners) process.kill(process.pid, signal);
    };
    void finish().then(exit, exit);
  };
  const remove = () => {
    process.off("exit", cleanUp);
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  process.on("exit", cleanUp);
  for (const signal of SIGNALS) process.prependListener(signal, onSignal);
  return remove;
};
