import { useContext, useEffect, useState } from "preact/hooks";
import { IsLive } from "./is-live.ts";

/** Returns the time, which goes on every second while `isWanted` and the page is connected: nobody knows what runs otherwise. */
export const useNow = (isWanted: boolean): number => {
  const isRunning = useContext(IsLive) && isWanted;
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!isRunning) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isRunning]);
  return now;
};

/** Loads something, again whenever `key` changes. Until it is there again, what was loaded for the same `subject` stays. */
export const useLoaded = <T>(
  load: (signal: AbortSignal) => Promise<T>,
  subject: string,
  key: unknown,
): { value?: T; problem?: string } => {
  const [loaded, setLoaded] = useState<{ subject: string; value?: T; problem?: string }>({ subject });
  // `load` is a new function each time; what it loads is named by the subject and the key.
  useEffect(() => {
    const leaving = new AbortController();
    load(leaving.signal).then(
      (value) => !leaving.signal.aborted && setLoaded({ subject, value }),
      (error: unknown) => {
        if (leaving.signal.aborted) return;
        const problem = error instanceof Error ? error.message : String(error);
        setLoaded((before) => (before.subject === subject ? { ...before, problem } : { subject, problem }));
      },
    );
    return () => leaving.abort();
  }, [subject, key]);
  return loaded.subject === subject ? loaded : {};
};
