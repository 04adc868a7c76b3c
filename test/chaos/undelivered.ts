import type { Task } from "../../src/task.ts";
import type { FakeHost } from "../fakes/fake-host.ts";
import type { AbandonedRuns } from "./abandoned-runs.ts";
import type { Deliveries } from "./deliveries.ts";
import type { TaskObservations } from "./observations.ts";

interface DeliveryParts {
  host: FakeHost;
  tracks: TaskObservations;
  deliveries: Deliveries;
  abandonedRuns: AbandonedRuns;
}

/** False for a deleted session and for a task that was stopped or failed: nobody there reads a notice. */
export const isListening = ({ host, tracks }: Pick<DeliveryParts, "host" | "tracks">, sessionID: string): boolean => {
  if (!host.sessionIDs().includes(sessionID)) return false;
  const task = tracks.of(sessionID);
  return task === undefined || task.status === "completed";
};

/** True for a task that a person had launched in the session of one that had ended. */
const isOfPersonBack = ({ host, tracks }: DeliveryParts, { parentSessionID, startedAt }: Task): boolean =>
  host.sessionIDs().includes(parentSessionID) &&
  Date.parse(startedAt) > (tracks.backSince(parentSessionID) ?? Number.POSITIVE_INFINITY);

/**
 * Every result was delivered to a parent that listens, unless it knows that the task was cancelled with its turn, or was told by
 * its own retry what became of the task.
 */
export const undelivered = (world: DeliveryParts, stored: Task[]): string[] =>
  stored
    .filter((task) => isListening(world, task.parentSessionID) || isOfPersonBack(world, task))
    .flatMap((task) =>
      Array.from({ length: task.resumeCount + 1 }, (_, run) => {
        const { notices, byWaiting, byReading, isGivenUp } = world.deliveries.of(task, run);
        const isKnown =
          (run === task.resumeCount && world.abandonedRuns.isKnown(task)) ||
          world.tracks.wasToldByRetry(task.sessionID, run);
        return notices + byWaiting + byReading === 0 && !isGivenUp && !isKnown
          ? `${task.parentSessionID} was never notified of run ${run} of ${task.sessionID} (${task.status})`
          : [];
      }).flat(),
    );
