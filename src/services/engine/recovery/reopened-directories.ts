// An interface that is quit opens its directory again in its last second: what was taken over then would end with it.
import type { HostEvent } from "../../../machines/host-events.ts";
import type { Clock } from "../../platform/clock.ts";

/**
 * Milliseconds after which a directory that was closed and opened again shows that the process stays. OpenCode ends at the
 * latest 5 s after its interface was quit (read in 1.18.33); this is three times that, for a busy machine.
 */
export const QUIT_TIMEOUT_MS = 15_000;

/**
 * Milliseconds for which a session has to be busy to show the same. A process that ends aborts its sessions, which may
 * report once more that they are busy, but are idle within a tenth of this time (measured).
 */
export const AT_WORK_MS = 2_000;

/** Creates the memory of closed directories, one for the process. */
export const createDirectoryOpenings = (clock: Clock) => {
  const closedAt = new Map<string, number>();
  return {
    open: (directory: string) => {
      const left = (closedAt.get(directory) ?? Number.NEGATIVE_INFINITY) + QUIT_TIMEOUT_MS - clock.now();
      let isStaying = left <= 0;
      let waiting: (() => void)[] = [];
      /** Cancels the timer of each session that is busy. */
      const busyTimers = new Map<string, () => void>();
      const cancelTimer = (sessionID: string) => {
        busyTimers.get(sessionID)?.();
        busyTimers.delete(sessionID);
      };
      const cancelAllTimers = () => {
        cancelQuitTimer();
        for (const sessionID of [...busyTimers.keys()]) cancelTimer(sessionID);
      };
      const onStaying = () => {
        cancelAllTimers();
        isStaying = true;
        for (const then of waiting.splice(0)) then();
      };
      const cancelQuitTimer = isStaying ? () => undefined : clock.after(left, onStaying);
      return {
        /**
         * False while the process may be ending: the directory was closed a moment ago, and opened again. An interface that is
         * quit does that: it reloads what it shows when the directory is closed, and so opens it again in its last second.
         */
        isProcessStaying: () => isStaying,
        /** Calls `then` once the process is known to stay; at once where that is known already. Never after `close`. */
        whenProcessStays: (then: () => void): void => {
          if (isStaying) then();
          else waiting.push(then);
        },
        /** Handles an event of the host: a session that stays busy shows that the process stays. */
        onHostEvent: (event: HostEvent): void => {
          if (isStaying) return;
          if ((event.type === "busy" || event.type === "retrying") && !busyTimers.has(event.sessionID)) {
            busyTimers.set(event.sessionID, clock.after(AT_WORK_MS, onStaying));
          }
          if (event.type === "idle" || event.type === "deleted") cancelTimer(event.sessionID);
        },
        /** To be called when OpenCode closes the directory. */
        close: (): void => {
          cancelAllTimers();
          waiting = [];
          closedAt.set(directory, clock.now());
        },
      };
    },
  };
};

/** A directory that OpenCode has open in this process, from one opening to the next close. */
export type DirectoryOpening = ReturnType<ReturnType<typeof createDirectoryOpenings>["open"]>;
