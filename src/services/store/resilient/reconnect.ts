import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { Condition, Connector, OpenFile } from "../sqlite/connect.ts";
import { DatabaseError, databaseError, type FaultKind } from "../sqlite/database.ts";
import type { SqliteStore } from "../sqlite/sqlite-store.ts";
import type { WriteBuffer } from "./write-buffer.ts";

/** What a lifeline works with. */
export interface ReconnectionDeps {
  ledger: WriteBuffer;
  connector: Connector;
  /** Undefined when the file could not be opened yet. */
  connection: OpenFile | undefined;
  clock: Clock;
  log: Log;
  /** Where the file is, for people. */
  path: string;
}

/** The file behind a ledger, as far as it can be reached. Nothing here throws. */
export interface Reconnection {
  /**
   * Writes what the file does not have. True when it has everything then. While it cannot be written, most calls are
   * answered without a try; one that is urgent is not.
   */
  flush(urgency?: "urgent"): boolean;
  /** Asks the file; where that cannot answer, `otherwise` does. */
  readOr<T>(question: (store: SqliteStore) => T, otherwise: () => T): T;
  /** Goes on in a new file when the old one was moved or removed by somebody, and with a new log when that was. */
  reopenIfMoved(): void;
  isConnected(): boolean;
  /** Writes what is left to be written, and lets go of the file. */
  close(): void;
}

/**
 * Milliseconds from a write that failed to the next try that is not urgent. A locked file takes a tenth of a second to
 * say so, in which the host stands still.
 */
const PAUSE = 1_000;

/** What a person can do about it. */
export const ADVICE: Readonly<Record<FaultKind, string>> = {
  damaged: "Check the disk.",
  newer: "Restart OpenCode, so that it uses the newest opencode-taskchart that is installed.",
  full: "Make room on the disk.",
  readonly: "Make the file and its folder writable, and restart OpenCode.",
  unopenable: "Make the file and its folder readable and writable, and restart OpenCode.",
  busy: "Another process holds the file; end it, if this does not pass.",
  other: "Check the disk.",
};

const MOVED =
  "The file of tasks was moved or removed. What is at work goes on in the one in its place; ended tasks of before are not listed.";

const LOG_SHARED =
  "its log of changes (-wal, -shm) was removed while several processes had it open; what they had stored is in the file";

export const createReconnection = ({
  ledger,
  connector,
  connection: first,
  clock,
  log,
  path,
}: ReconnectionDeps): Reconnection => {
  connector.standIn(ledger.rewrite);
  let connection = first;
  /** While the file cannot be used: when it was tried last. Said once when it begins, and once when it is over. */
  let outage: { triedAt: number } | undefined;
  let isClosed = false;

  const beginOutage = ({ kind, message }: DatabaseError) => {
    if (!outage) {
      log.error("The file of tasks cannot be used for now. Tasks go on in memory, and are written once it can.", {
        file: path,
        reason: message,
        advice: ADVICE[kind],
      });
    }
    outage = { triedAt: clock.now() };
  };

  const endOutage = () => {
    if (outage) log.info("The file of tasks can be used again, and has everything.", { file: path });
    outage = undefined;
  };

  const save = () => {
    connection ??= connector.connect();
    ledger.save(connection.store);
    // There may have been nothing to save: it is over once something was written.
    if (outage) ledger.lose(connection.store.heartbeat(clock.now()));
    endOutage();
  };

  /** The file is not what it was: what goes on here goes into a new one. */
  const startOver = (old: OpenFile, fault: DatabaseError | undefined) => {
    connection = undefined;
    ledger.startOver();
    try {
      old.store.abandon();
      if (fault) connector.setAside(old.identity, fault.message);
      else log.info(MOVED, { file: path });
      save();
    } catch (error) {
      beginOutage(databaseError(error));
    }
  };

  /** The log of changes is gone. Who has it open still knows what stands in it. */
  const renewLog = (old: OpenFile) => {
    try {
      const renewed = connector.reconnect(old);
      if (!renewed) return startOver(old, new DatabaseError("damaged", LOG_SHARED));
      connection = renewed;
      const message = "The log of changes of the file of tasks was removed. A new one was begun, and nothing is lost.";
      log.info(message, { file: path });
    } catch (error) {
      suffer(error);
    }
  };

  const conditionOf = (current: OpenFile): Condition => {
    try {
      return connector.conditionOf(current);
    } catch {
      // As long as the file itself can be used, nothing is wrong; and if it cannot, that shows.
      return "whole";
    }
  };

  const suffer = (error: unknown) => {
    const fault = databaseError(error);
    if (connection && fault.kind === "damaged") startOver(connection, fault);
    else beginOutage(fault);
  };

  const flush: Reconnection["flush"] = (urgency) => {
    if (isClosed) return false;
    if (outage && !urgency && Math.abs(clock.now() - outage.triedAt) < PAUSE) return false;
    try {
      save();
    } catch (error) {
      suffer(error);
    }
    return outage === undefined;
  };

  return {
    flush,
    readOr: (question, otherwise) => {
      if (!connection || isClosed) return otherwise();
      try {
        return question(connection.store);
      } catch (error) {
        suffer(error);
        return otherwise();
      }
    },
    reopenIfMoved: () => {
      if (!connection || isClosed) return;
      const condition = conditionOf(connection);
      if (condition === "replaced") startOver(connection, undefined);
      if (condition === "cutOff") renewLog(connection);
    },
    isConnected: () => connection !== undefined,
    close: () => {
      if (isClosed) return;
      if (!ledger.isSaved() && !flush("urgent")) {
        const message = "OpenCode ends, and the newest changes of tasks could not be written: they are lost.";
        log.error(message, { file: path });
      }
      isClosed = true;
      try {
        connection?.store.close();
      } catch {
        // Who comes next sees that the process is gone.
      }
    },
  };
};
