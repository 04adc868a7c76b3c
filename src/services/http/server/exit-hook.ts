const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Has `clean` called when the process exits or is told to, and then `finish`; the process exits all the same, just as
 * it would have without. Returns how to call that off.
 *
 * A listener to a signal takes away its default, which is to end the process. So when nobody else listens, the signal is
 * sent again after that, without our listener; when somebody does, exiting is their business.
 */
export const onProcessExit = (clean: () => void, finish: () => Promise<void>): (() => void) => {
  const part = (signal: NodeJS.Signals) => {
    callOff();
    // Asked before anybody else's listener has run: one that listens once is gone after that.
    const isOthersBusiness = process.listenerCount(signal) > 0;
    clean();
    const leave = () => {
      if (!isOthersBusiness) process.kill(process.pid, signal);
    };
    void finish().then(leave, leave);
  };
  const callOff = () => {
    process.off("exit", clean);
    for (const signal of SIGNALS) process.off(signal, part);
  };
  process.on("exit", clean);
  for (const signal of SIGNALS) process.prependListener(signal, part);
  return callOff;
};
