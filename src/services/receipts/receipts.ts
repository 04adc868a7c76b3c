import type { HostEvent } from "../../machines/host-events.ts";
import type { ReceiptRequest } from "../../machines/task/events.ts";
import type { Receipt } from "../../receipt.ts";
import type { Host } from "../host/host.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import { createRunTally, type RunTally } from "./run-tally.ts";

/**
 * Creates the writer of receipts: from what this process has observed, and where it has not seen the whole run, from what the
 * host stored.
 */
export const createReceipts = ({
  host,
  clock,
  log,
  progress,
  bus,
}: {
  host: Pick<Host, "runEvents">;
  clock: Clock;
  log: Log;
  /** Where this process collects what it observes of runs under way, by session. */
  progress: { runOf(sessionID: string): RunTally | undefined };
  /** Where is announced what the host has stored of a run that was taken over. */
  bus: { emit(type: "storedEventsRead", events: readonly HostEvent[]): void };
}) => {
  /** What is being read of runs that were taken over, by session. */
  const underWay = new Map<string, Promise<void>>();
  /** The tallies that lack the beginning of their runs. */
  const incomplete = new WeakSet<RunTally>();

  /** Adds what the host has stored of a run to its tally. Returns that; undefined where the host does not say it. */
  const addStored = async (tally: RunTally, sessionID: string, messageID: string): Promise<HostEvent[] | undefined> => {
    const notRead = (reason: string) =>
      void log.error("what a run did could not be read from OpenCode", { sessionID, reason });
    try {
      const stored = await host.runEvents(sessionID, messageID);
      if (!stored.ok) return notRead(stored.failure.message);
      const at = clock.now();
      for (const event of stored.value) tally.onHostEvent(event, at);
      return stored.value;
    } catch (error) {
      // A fault of ours costs the receipt what the run did before, and nothing of the run.
      return notRead(errorMessage(error));
    }
  };

  const takeOver = async (sessionID: string, messageID: string): Promise<void> => {
    const tally = progress.runOf(sessionID);
    if (!tally) return;
    incomplete.add(tally);
    const stored = await addStored(tally, sessionID, messageID);
    if (!stored) return;
    incomplete.delete(tally);
    bus.emit("storedEventsRead", stored);
  };

  const receiptOf = (tally: RunTally, isWhole: boolean, { run, ...rest }: ReceiptRequest): Receipt =>
    tally.receipt({ index: run, isWhole, ...rest });

  return {
    /** Reads what a run has done so far, which another process supervised until now. Resolves when that is known. */
    takeOver: async (sessionID: string, messageID: string): Promise<void> => {
      const reading = takeOver(sessionID, messageID).finally(() => underWay.delete(sessionID));
      underWay.set(sessionID, reading);
      await reading;
    },
    /** Resolves when what was read of a run that was taken over is known, or cannot be. At once for all others. */
    ready: async (sessionID: string): Promise<void> => underWay.get(sessionID),
    /** The receipt of a run; undefined while not all of it is known here. */
    ifKnown: (run: ReceiptRequest): Receipt | undefined => {
      const tally = progress.runOf(run.taskId);
      return tally && !incomplete.has(tally) ? receiptOf(tally, true, run) : undefined;
    },
    /** The receipt of a run. Where the host does not answer, it is that of what was seen. */
    write: async (run: ReceiptRequest): Promise<Receipt> => {
      const { taskId: sessionID, messageID } = run;
      await underWay.get(sessionID);
      const tally = progress.runOf(sessionID);
      if (tally && !incomplete.has(tally)) return receiptOf(tally, true, run);
      const anew = tally ?? createRunTally();
      return receiptOf(anew, (await addStored(anew, sessionID, messageID)) !== undefined, run);
    },
  };
};
