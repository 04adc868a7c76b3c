/** Something that is there once per process, and ends when the last of those who use it has stopped. */
interface Stoppable {
  stop(): Promise<void>;
}

interface Shared<T> {
  users: number;
  thing: Promise<T>;
}

interface Slot<T> {
  current: Shared<T> | undefined;
  /** Settles when the one before has ended: its port is free then. */
  ended: Promise<unknown>;
}

/** Found by every copy of this module in the process: the host may load the plugin once for each directory. */
const KEY = Symbol.for("opencode-taskchart.status-server");

const slotOf = <T>(): Slot<T> => {
  const everywhere = globalThis as { [KEY]?: Slot<T> };
  everywhere[KEY] ??= { current: undefined, ended: Promise.resolve() };
  return everywhere[KEY];
};

/**
 * The one that is there, or a new one. Counted, not kept until the process ends: the host disposes of the plugin and
 * loads it anew when its configuration changes, and a new one must not be served by the old one's source.
 */
export const acquireShared = async <T extends Stoppable>(begin: () => Promise<T>): Promise<T> => {
  const place = slotOf<T>();
  place.current ??= { users: 0, thing: place.ended.then(begin) };
  const shared = place.current;
  shared.users += 1;
  let left = false;

  /** One user less. Returns true for the last. */
  const leave = (): boolean => {
    if (left) return false;
    left = true;
    shared.users -= 1;
    if (shared.users > 0) return false;
    if (place.current === shared) place.current = undefined;
    return true;
  };

  try {
    const thing = await shared.thing;
    const stop = async () => {
      if (!leave()) return;
      const ended = thing.stop();
      place.ended = ended.catch(() => undefined);
      await ended;
    };
    return { ...thing, stop };
  } catch (error) {
    leave();
    throw error;
  }
};
