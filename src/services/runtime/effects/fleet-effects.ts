import type { TaskEvent } from "../../../machines/task/events.ts";
import type { Clock } from "../../platform/clock.ts";
import { type EffectHandlers, supervisionFailed } from "./effect-handler.ts";

/** What a task asks of the fleet. What is found there reaches its chart as events. */
export interface RemoteRuns {
  /** Offers a run to the servers of the fleet. */
  order(taskId: string, run: number): Promise<TaskEvent>;
  /** Tells the chart all that the servers have written of a run. */
  read(taskId: string, run: number): Promise<void>;
  /** Asks the server that has the run to stop. */
  recall(taskId: string, run: number): Promise<void>;
  /** Ends a run in the fleet, unless somebody wrote before what the chart does not know yet. */
  close(taskId: string, run: number): Promise<void>;
}

/** What is done with runs in the fleet. */
export interface FleetEffectDeps {
  clock: Clock;
  /** Undefined where this server is in no fleet: then what was meant for one is worked on here. */
  remoteRuns: RemoteRuns | undefined;
}

/** Creates the handlers of the effects that concern other servers. */
export const createFleetEffects = ({
  clock,
  remoteRuns,
}: FleetEffectDeps): EffectHandlers<"sendOrder" | "readRun" | "recallRun" | "closeRun"> => {
  const notHere = (): TaskEvent => ({
    type: "ORDER_REFUSED",
    at: clock.now(),
    error: { name: "NoFleet", kind: "fleet", message: "This server is in no fleet." },
    retryable: false,
  });
  return {
    sendOrder: {
      taskId: ({ sessionID }) => sessionID,
      perform: async ({ sessionID: id, run }) => ({
        type: "TASK",
        id,
        event: remoteRuns ? await remoteRuns.order(id, run) : notHere(),
      }),
      onFault: ({ sessionID: id }, at, reason) => ({ type: "TASK", id, event: supervisionFailed(at, reason) }),
    },
    // The chart waits with a deadline, or for whatever is read later.
    readRun: {
      taskId: ({ sessionID }) => sessionID,
      perform: async ({ sessionID, run }) => void (await remoteRuns?.read(sessionID, run)),
      onFault: () => undefined,
    },
    recallRun: {
      taskId: ({ sessionID }) => sessionID,
      perform: async ({ sessionID, run }) => void (await remoteRuns?.recall(sessionID, run)),
      onFault: () => undefined,
    },
    closeRun: {
      taskId: ({ sessionID }) => sessionID,
      perform: async ({ sessionID, run }) => void (await remoteRuns?.close(sessionID, run)),
      onFault: () => undefined,
    },
  };
};
