import { atMost } from "../../platform/concurrency.ts";

/**
 * Sessions that are created at a time. An agent may launch hundreds in one message: where the host is slow, each of those
 * calls would otherwise spend its time waiting for the others, and be given up. Fewer at a time would mix the first tasks'
 * work into the launching turn, which makes it longer (a hundred launches by 40 % where 20 were created at a time, measured).
 */
const MOST_AT_A_TIME = 100;

/** Creates the record of launches that have not led to a task yet. */
export const createLaunchesUnderWay = () => {
  /** Launches whose worktree is being made, or whose session is being created. */
  const pending = new Set<{ parentSessionID: string; abort: AbortController }>();

  /** How many launches of each session are under way: an agent may begin many at once. */
  const counts = new Map<string, number>();

  const cancel = (isMeant: (parentSessionID: string) => boolean) => {
    for (const { parentSessionID, abort } of pending) if (isMeant(parentSessionID)) abort.abort();
  };

  const countOf = (parentSessionID: string): number => counts.get(parentSessionID) ?? 0;

  return {
    /** Returns how many launches of a session are under way. */
    countOf,
    /** Counts a launch until `work` is done. */
    counting: async <T>(parentSessionID: string, work: () => Promise<T>): Promise<T> => {
      counts.set(parentSessionID, countOf(parentSessionID) + 1);
      try {
        return await work();
      } finally {
        if (countOf(parentSessionID) > 1) counts.set(parentSessionID, countOf(parentSessionID) - 1);
        else counts.delete(parentSessionID);
      }
    },
    /** Adds a launch that can be cancelled until `end` is called. `signal` is aborted when it is cancelled. */
    begin: (parentSessionID: string): { signal: AbortSignal; end(): void } => {
      const launch = { parentSessionID, abort: new AbortController() };
      pending.add(launch);
      return { signal: launch.abort.signal, end: () => void pending.delete(launch) };
    },
    /** Runs the creation of a session when few enough others are under way. */
    inTurn: atMost(MOST_AT_A_TIME),
    /** Cancels launches of a session that was stopped or deleted. */
    cancel: (parentSessionID: string) => cancel((id) => id === parentSessionID),
    /** Cancels all launches. */
    stop: () => cancel(() => true),
  };
};
