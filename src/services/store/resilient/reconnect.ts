import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { Condition, createConnector, OpenFile } from "../sqlite/connect.ts";
import { DatabaseError, databaseError, type FaultKind } from "../sqlite/driver.ts";
import type { SqliteStore } from "../sqlite/sqlite-store.ts";
import type { WriteBuffer } from "./write-buffer.ts";

/** How a store gets to its file, and where it reports faults. */
export interface FileAccess {
  connector: ReturnType<typeof createConnector>;
  /** Undefined when the file could not be opened yet. */
  connection: OpenFile | undefined;
  clock: Clock;
  log: Log;
  /** Where the file is, for log messages. */
  path: string;
}

export type Reconnection = ReturnType<typeof createReconnection>;

/**
 * Milliseconds between a failed write and the next try that is not urgent. A locked file takes a tenth of a second to
 * fail, and blocks the host for that time.
 */
const RETRY_PAUSE_MS = 1_000;

const LOCAL_DISK =
  "The folder is on a file system that processes cannot share files on, as some network and shared folders are. Start OpenCode with XDG_DATA_HOME set to a folder on a local disk.";

/** What a person can do about each kind of fault. */
export const ADVICE: Readonly<Record<FaultKind, string>> = {
  damaged: "Check the disk.",
  unreleased: "Restart OpenCode: it begins a new file.",
  newer: "Restart OpenCode, so that it uses the newest opencode-taskchart that is installed.",
  full: "Make room on the disk.",
  readonly: "Make the file and its folder writable, and restart OpenCode.",
  unopenable: "Make the file and its folder readable and writable, and restart OpenCode.",
  unshared: LOCAL_DISK,
  unlockable: LOCAL_DISK,
  busy: "Another process has locked the file; end it if this does not pass.",
  contested: "Another process has locked the file; end it if this does not pass.",
  other: "Check the disk.",
};

const MOVED =
  "The task database was moved or removed. Running tasks continue in a new one; tasks that ended before are no longer listed.";

const LOG_SHARED =
  "its write-ahead log (-wal, -shm) was removed while several processes had it open; everything they had stored is in the file";

/** Creates the connection to the file, reopened when it fails. Its methods never throw. */
export const createReconnection = (
  buffer: WriteBuffer,
  { connector, connection: first, clock, log, path }: FileAccess,
) => {
  connector.setRecordFallback(buffer.rewrite);
  let connection = first;
  /** Set while the file cannot be used: the time of the last try. Its begin and its end are logged once each. */
  let outage: { triedAt: number } | undefined;
  let isClosed = false;

  const beginOutage = ({ kind, message }: DatabaseError) => {
    if (!outage) {
      log.error("The task database cannot be used for now. Tasks go on in memory, and are written once it can.", {
        file: path,
        reason: message,
        advice: ADVICE[kind],
      });
    }
    outage = { triedAt: clock.now() };
  };

  const endOutage = () => {
    if (outage) log.info("The task database can be used again, and has everything.", { file: path });
    outage = undefined;
  };

  /** Makes that the connection. Tasks taken over since the last one was open are lost with its first heartbeat. */
  const use = (opened: OpenFile): OpenFile => {
    connection = opened;
    opened.store.expectOwned(buffer.owned());
    return opened;
  };

  const save = () => {
    const { store } = connection ?? use(connector.connect());
    buffer.save(store);
    // There may have been nothing to save: only a write that succeeds ends the outage.
    if (outage) buffer.disown(store.heartbeat(clock.now()));
    endOutage();
  };

  /** Leaves a file that is damaged (`fault`) or was moved away, and continues in a new one. */
  const startOver = (old: OpenFile, fault: DatabaseError | undefined) => {
    connection = undefined;
    buffer.startOver();
    try {
      old.store.abandon();
      if (fault) connector.setAside(old.identity, fault.message);
      else log.info(MOVED, { file: path });
      save();
    } catch (error) {
      beginOutage(databaseError(error));
    }
  };

  /** Replaces a removed write-ahead log. Connections that have the old one open can still read it. */
  const renewLog = (old: OpenFile) => {
    try {
      const renewed = connector.reconnect(old);
      if (!renewed) return startOver(old, new DatabaseError("damaged", LOG_SHARED));
      use(renewed);
      const message =
        "The write-ahead log of the task database was removed. A new one was created, and nothing is lost.";
      log.info(message, { file: path });
    } catch (error) {
      onDatabaseError(error);
    }
  };

  const conditionOf = (current: OpenFile): Condition => {
    try {
      return connector.conditionOf(current);
    } catch {
      // The state of the folder does not matter while the file can be used; if it cannot, the next read or write fails.
      return "whole";
    }
  };

  /**
   * Opens a file again whose open log could not be locked: each further call would wait for as long, and with it the host.
   * Where there are no locks, opening fails at once, with a reason.
   */
  const openAnew = (old: OpenFile) => {
    connection = undefined;
    try {
      old.store.abandon();
      save();
    } catch (error) {
      beginOutage(databaseError(error));
    }
  };

  const onDatabaseError = (error: unknown) => {
    const fault = databaseError(error);
    if (connection && fault.kind === "damaged") startOver(connection, fault);
    else if (connection && fault.kind === "contested") openAnew(connection);
    else beginOutage(fault);
  };

  /**
   * Writes everything unsaved, and returns true when the file has everything. During an outage it tries at most once per
   * `RETRY_PAUSE_MS`, unless the call is urgent.
   */
  const flush = (urgency?: "urgent"): boolean => {
    if (isClosed) return false;
    if (connection && !outage && buffer.isSaved()) return true;
    if (outage && !urgency && Math.abs(clock.now() - outage.triedAt) < RETRY_PAUSE_MS) return false;
    try {
      save();
    } catch (error) {
      onDatabaseError(error);
    }
    return outage === undefined;
  };

  return {
    flush,
    /** Returns what `work` does with the file; undefined when the file cannot be used. */
    read: <T>(work: (store: SqliteStore) => T): { value: T } | undefined => {
      if (!connection || isClosed) return undefined;
      try {
        return { value: work(connection.store) };
      } catch (error) {
        onDatabaseError(error);
        return undefined;
      }
    },
    /** Continues in a new file when the old one was moved or removed, and with a new write-ahead log when that was. */
    reopenIfMoved: () => {
      if (!connection || isClosed) return;
      const condition = conditionOf(connection);
      if (condition === "replaced") startOver(connection, undefined);
      if (condition === "logReplaced") renewLog(connection);
    },
    isConnected: () => connection !== undefined,
    isClosed: () => isClosed,
    /** Writes what is unsaved, and closes the file. */
    close: () => {
      if (isClosed) return;
      if (!buffer.isSaved() && !flush("urgent")) {
        const message = "OpenCode ends, and the newest changes to tasks could not be written: they are lost.";
        log.error(message, { file: path });
      }
      isClosed = true;
      try {
        connection?.store.close();
      } catch {
        // Other processes find out by themselves that this one has ended.
      }
    },
  };
};
