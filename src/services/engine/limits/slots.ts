import type { SlotRequest } from "../../../machines/task/events.ts";
import { slotOf } from "../../../machines/task/slot.ts";
import { type Concurrency, limitsFor } from "../../../machines/task/slot-queue.ts";
import type { Clock } from "../../platform/clock.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import type { EngineBus } from "../../runtime/effects.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Store } from "../../store/store.ts";

/** Milliseconds after which those that wait ask again: slots that other processes free are noticed no sooner. */
const ASK_AGAIN_MS = 1_000;

/**
 * Creates what gives slots to the runs of this process, within limits that all processes of the store share. Nobody waits for
 * one yet.
 */
export const createSlots = (
  {
    store,
    clock,
    log,
    runtime,
    bus,
  }: {
    store: Pick<Store, "grantSlots" | "startQueued">;
    clock: Clock;
    log: Log;
    runtime: Pick<Runtime, "send" | "snapshotOf">;
    bus: EngineBus;
  },
  concurrency: Concurrency,
) => {
  /** Tasks of this process whose runs wait. */
  const waiting = new Set<string>();
  /** Tasks of this process that hold a slot, so that it is noticed when they free it. */
  const holding = new Set<string>();
  let cancelTimer: (() => void) | undefined;
  let isStopped = false;

  const stillWaits = (taskId: string): boolean => {
    const snapshot = runtime.snapshotOf(taskId);
    return waiting.has(taskId) && snapshot !== undefined && slotOf(snapshot) === "waiting";
  };

  /** Gives those that wait the slots that are free. */
  const grantFreeSlots = () => {
    if (waiting.size === 0) return;
    const granted = store.startQueued(stillWaits);
    for (const taskId of granted) waiting.delete(taskId);
    for (const taskId of granted) runtime.send(taskId, { type: "SLOT_GRANTED", at: clock.now() });
  };

  /** Does so again after a pause, for as long as any wait. */
  const grantAgainLater = () => {
    if (cancelTimer || isStopped || waiting.size === 0) return;
    cancelTimer = clock.after(ASK_AGAIN_MS, () => {
      cancelTimer = undefined;
      try {
        grantFreeSlots();
      } catch (error) {
        log.error("the queue could not be served", { reason: errorMessage(error) });
      }
      grantAgainLater();
    });
  };

  bus.on("taskChanged", ({ sessionID }) => {
    const snapshot = runtime.snapshotOf(sessionID);
    const state = snapshot ? slotOf(snapshot) : "none";
    if (state !== "waiting") waiting.delete(sessionID);
    if (state === "held") holding.add(sessionID);
    else if (holding.delete(sessionID)) grantFreeSlots();
  });
  bus.on("tasksLost", (lost) => {
    for (const { sessionID } of lost) waiting.delete(sessionID);
  });

  return {
    /** Takes a slot for a run. False when none is free: then it waits, and gets `SLOT_GRANTED` once it has one. */
    take: (request: SlotRequest): boolean => {
      if (store.grantSlots([{ ...request, limits: limitsFor(request, concurrency) }]).length > 0) return true;
      waiting.add(request.taskId);
      grantAgainLater();
      return false;
    },
    stop: () => {
      isStopped = true;
      cancelTimer?.();
    },
  };
};
