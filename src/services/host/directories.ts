// The directories that sessions of this process use: those of tasks' worktrees
// (docs/decisions/243-one-engine-per-project.md), and those that are opened only to be read, which get no engine
// (docs/decisions/262-reading-a-directory-starts-no-engine.md).
import type { HostEvent } from "../../machines/host-events.ts";
import type { Clock } from "../platform/clock.ts";

/**
 * The directories, beside the plugin's own, in which sessions of tasks work: in worktrees. The host says of one directory at
 * a time what is busy and what is asked there.
 */
export type SessionDirectories = ReturnType<typeof createSessionDirectories>;

/** Creates an empty register of such directories. */
export const createSessionDirectories = () => {
  const directories = new Map<string, string>();
  return {
    /** Notes that a session works in a directory. */
    enter: (sessionID: string, directory: string): void => void directories.set(sessionID, directory),
    /** Notes that it does not work any more. */
    leave: (sessionID: string): void => void directories.delete(sessionID),
    /** Returns the directory of a session at work; undefined for one of the plugin's own directory, or one that is not known. */
    of: (sessionID: string): string | undefined => directories.get(sessionID),
    /** Returns all directories in which sessions work, each once. */
    all: (): string[] => [...new Set(directories.values())],
    /** Returns the sessions at work in a directory. */
    sessionsIn: (directory: string): string[] =>
      [...directories].flatMap(([sessionID, of]) => (of === directory ? sessionID : [])),
  };
};

/**
 * Milliseconds after which a directory is closed again that was opened to read something of it. A person who looks at a
 * task asks for its conversation every few seconds, and opening a directory is dear.
 */
const CLOSE_AFTER_MS = 60_000;

/** What somebody does who works in a directory: OpenCode reports events of these kinds from there. */
const WORK = /^(session|message|permission|question|todo|command|pty)\./;

/** True for an event of the host that shows that somebody works in its directory, and does not only read. */
export const showsWork = (eventType: string): boolean => WORK.test(eventType);

/**
 * The directories that are opened in this process only to read something of them. OpenCode opens a directory for any call
 * that is about a session of it; but a process that only reads there takes over none of its tasks, and supervises nothing.
 */
export type ReadDirectories = ReturnType<typeof createReadDirectories>;

/** Creates the register of directories that are only read, one for the process. */
export const createReadDirectories = (clock: Clock) => {
  /** The directories that are open, by name: true for one that is only read. */
  const opened = new Map<string, { isOnlyRead: boolean }>();
  /** How many read something of a directory that was not open when they began. */
  const readers = new Map<string, number>();
  const timers = new Map<string, () => void>();

  const count = (directory: string, change: 1 | -1) => {
    const now = (readers.get(directory) ?? 0) + change;
    if (now === 0) readers.delete(directory);
    else readers.set(directory, now);
  };

  const cancelTimer = (directory: string) => {
    timers.get(directory)?.();
    timers.delete(directory);
  };

  return {
    /**
     * Calls `read`, which reads something of these directories, and resolves to what it does. A directory that OpenCode opens
     * for that is given to `close` a minute after it was read last, unless somebody works there by then.
     */
    read: async <T>(
      directories: readonly string[],
      read: () => Promise<T>,
      close: (directory: string) => Promise<unknown>,
    ): Promise<T> => {
      const wanted = directories.filter((directory) => opened.get(directory)?.isOnlyRead !== false);
      for (const directory of wanted) {
        cancelTimer(directory);
        count(directory, 1);
      }
      try {
        return await read();
      } finally {
        for (const directory of wanted) {
          count(directory, -1);
          cancelTimer(directory);
          const closeUnlessUsed = () => {
            timers.delete(directory);
            if (readers.has(directory) || !opened.get(directory)?.isOnlyRead) return;
            // What cannot be closed stays open, and is still no candidate.
            void close(directory).catch(() => undefined);
          };
          if (!readers.has(directory)) timers.set(directory, clock.after(CLOSE_AFTER_MS, closeUnlessUsed));
        }
      }
    },
    /** Notes that OpenCode has opened a directory. */
    open: (directory: string) => {
      const use = { isOnlyRead: readers.has(directory) };
      opened.set(directory, use);
      return {
        /** True while nothing has been done there but to read for `read`. */
        isOnlyRead: (): boolean => use.isOnlyRead,
        /** Notes that somebody works there. */
        use: (): void => {
          use.isOnlyRead = false;
        },
        /** To be called when OpenCode closes it. */
        close: (): void => {
          if (opened.get(directory) !== use) return;
          opened.delete(directory);
          cancelTimer(directory);
        },
      };
    },
  };
};

// An interface that is quit opens its directory again in its last second: what was taken over then would end with it.

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
