import type { SlotRequest } from "../../src/machines/task/events.ts";
import { type SlotState, slotOf, slotRequestOf } from "../../src/machines/task/slot.ts";
import type { Store, TaskRecord } from "../../src/services/store/store.ts";

/** What is known of the slots of the living process: from what it stores, not from how the store counts. */
export interface SlotWatch {
  /** Wraps the store of a new process, whose predecessors are dead. */
  watch(store: Store): Store;
  /** The tasks that hold a slot, or wait for one. */
  open(): string[];
}

/** Watches that no run starts at or above the limit, and none before an older one. */
export const createSlotWatch = (limit: number, fault: (words: string) => void): SlotWatch => {
  const tasks = new Map<string, { state: SlotState; request: SlotRequest }>();

  const note = ({ snapshot, task: { sessionID } }: TaskRecord) => {
    const state = slotOf(snapshot);
    if (state === "none") tasks.delete(sessionID);
    else tasks.set(sessionID, { state, request: slotRequestOf(snapshot.context) });
  };

  const forget = (taskIds: readonly string[]) => {
    for (const taskId of taskIds) tasks.delete(taskId);
  };

  const inState = (state: SlotState) => [...tasks.values()].filter((task) => task.state === state);

  const started = (request: SlotRequest) => {
    const held = inState("held").length;
    if (held >= limit) fault(`${request.taskId} starts while ${held} tasks hold the ${limit} slots`);
    const older = inState("waiting").find(({ request: other }) => other.since < request.since);
    if (older) fault(`${request.taskId} starts before ${older.request.taskId}, which has waited longer`);
  };

  return {
    open: () => [...tasks.keys()],
    watch: (store) => {
      tasks.clear();
      return {
        ...store,
        commit: (change) => {
          const lost = store.commit(change);
          change.records.forEach(note);
          forget(lost);
          return lost;
        },
        adopt: (now, wants) => {
          const work = store.adopt(now, wants);
          work.tasks.forEach(note);
          return work;
        },
        remove: (taskIds) => {
          store.remove(taskIds);
          forget(taskIds);
        },
        heartbeat: (now) => {
          const lost = store.heartbeat(now);
          forget(lost);
          return lost;
        },
        grantSlots: (requests) => {
          for (const request of requests) {
            if (!tasks.has(request.taskId)) tasks.set(request.taskId, { state: "waiting", request });
          }
          const granted = new Set(store.grantSlots(requests));
          const oldestFirst = requests.filter(({ taskId }) => granted.has(taskId)).sort((a, b) => a.since - b.since);
          for (const request of oldestFirst) {
            if (tasks.get(request.taskId)?.state === "held") continue;
            tasks.delete(request.taskId);
            started(request);
            tasks.set(request.taskId, { state: "held", request });
          }
          return [...granted];
        },
      };
    },
  };
};
