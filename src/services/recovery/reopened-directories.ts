import type { HostEvent } from "../../machines/supervisor/events.ts";
import type { Clock } from "../platform/clock.ts";

/**
 * Milliseconds after which a directory that was closed and opened again belongs to a process that goes on. OpenCode ends
 * 5 s after its interface was quit at the latest (read in 1.18.33); three times that, for a busy machine.
 */
export const QUIT_TIMEOUT_MS = 15_000;

/**
 * Milliseconds for which a session has to be at work to show the same. The sessions of a process that ends are being
 * aborted, and may say once more that they are busy; they are idle within a tenth of that (measured).
 */
export const AT_WORK_MS = 2_000;

/** One time that OpenCode has a directory open in this process. */
export interface DirectoryOpening {
  /**
   * False while the process may be ending: the directory was closed a moment ago, and opened again. A quit interface does
   * that: it reloads what it shows when it hears that the directory was closed, and so opens it in its last second.
   */
  isProcessStaying(): boolean;
  /** Calls `then` once the process is known to go on; at once where that is known. Never after `close`. */
  whenProcessStays(then: () => void): void;
  /** Takes what the host tells: a session that stays at work shows that the process goes on. */
  onHostEvent(event: HostEvent): void;
  /** OpenCode closes the directory. */
  close(): void;
}

/** The directories that OpenCode has had open in this process. */
export interface DirectoryOpenings {
  open(directory: string): DirectoryOpening;
}

/** None has been open yet. */
export const createDirectoryOpenings = (clock: Clock): DirectoryOpenings => {
  const closedAt = new Map<string, number>();
  return {
    open: (directory) => {
      const left = (closedAt.get(directory) ?? Number.NEGATIVE_INFINITY) + QUIT_TIMEOUT_MS - clock.now();
      let sure = left <= 0;
      let waiting: (() => void)[] = [];
      /** How to call off the timer of each session that is at work. */
      const atWork = new Map<string, () => void>();
      const rest = (sessionID: string) => {
        atWork.get(sessionID)?.();
        atWork.delete(sessionID);
      };
      const settle = () => {
        callOff();
        for (const sessionID of [...atWork.keys()]) rest(sessionID);
      };
      const beSure = () => {
        settle();
        sure = true;
        for (const then of waiting.splice(0)) then();
      };
      const callOff = sure ? () => undefined : clock.after(left, beSure);
      return {
        isProcessStaying: () => sure,
        whenProcessStays: (then) => {
          if (sure) then();
          else waiting.push(then);
        },
        onHostEvent: (event) => {
          if (sure) return;
          if (event.type === "busy" && !atWork.has(event.sessionID)) {
            atWork.set(event.sessionID, clock.after(AT_WORK_MS, beSure));
          }
          if (event.type === "idle" || event.type === "deleted") rest(event.sessionID);
        },
        close: () => {
          settle();
          waiting = [];
          closedAt.set(directory, clock.now());
        },
      };
    },
  };
};
