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
