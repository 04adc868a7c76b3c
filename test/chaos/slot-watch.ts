import type { SlotRequest } from "../../src/machines/task/events.ts";
import { slotRequestOf } from "../../src/machines/task/slot.ts";
import { GOES_AHEAD_MS } from "../../src/machines/task/slot-queue.ts";
import type { Store, TaskRecord } from "../../src/services/store/store.ts";

/** What is known of the slots of the living process: from what it stores, not from how the engine counts. */
export interface SlotWatch {
  /** Wraps the store of a new process, whose predecessors are dead. */
  watch(store: Store): Store;
  /** The tasks that hold a slot, or wait for one. */
  open(): string[];
  /** Reports a run that waits though a slot has been free for a while. */
  checkNoneIdle(): void;
  /** The process was stopped for a while: until now it could serve nobody. */
  wasPaused(): void;
}

type State = "waiting" | "held" | "none";

/** Milliseconds after which a free slot must have been given to one that waits: slots are asked for every second. */
const SERVED_WITHIN = 3_000;

/** Says again what the engine's own rule says, so that a mistake in that one is seen. */
const stateOf = ({ snapshot: { value, context } }: TaskRecord): State => {
  if (value.run === "idle") return "none";
  if (value.run === "queued") return "waiting";
  const needsNone =
    context.userRequests.length > 0 || value.run === "awaitingTasks" || (context.blockedCalls ?? []).length > 0;
  return needsNone ? "none" : "held";
};

/** True when the first is to start before the second: it has a higher priority, or has waited longer with the same one. */
const isAhead = (first: SlotRequest, second: SlotRequest): boolean =>
  first.priority > second.priority || (first.priority === second.priority && first.since < second.since);

/** Until when nothing starts on the task's provider: it has refused the task, and not answered it since. */
const goesAheadUntil = ({ snapshot: { context } }: TaskRecord): number | undefined =>
  context.retry && context.retry.until + GOES_AHEAD_MS;

/**
 * Watches that no run starts at or above the limit, none before one that is ahead of it, none on a provider that refuses
 * another one for now, and none waits for nothing.
 */
export const createSlotWatch = (limit: number, now: () => number, fault: (words: string) => void): SlotWatch => {
  const tasks = new Map<string, { state: State; request: SlotRequest; aheadUntil?: number | undefined }>();
  /** Since when a slot is free and a run waits for one; undefined where that is not so. */
  let idleSince: number | undefined;

  const inState = (state: State) => [...tasks.values()].filter((task) => task.state === state);

  /** Until when the provider of that run refuses another one; 0 where it does not. */
  const refusedUntil = ({ provider }: SlotRequest): number =>
    Math.max(0, ...inState("held").map((held) => (held.request.provider === provider ? (held.aheadUntil ?? 0) : 0)));

  const noteIdle = () => {
    const waiting = inState("waiting");
    const isIdle = waiting.length > 0 && inState("held").length < limit;
    const mayStartAt = Math.min(...waiting.map(({ request }) => refusedUntil(request)));
    idleSince = isIdle ? Math.max(idleSince ?? now(), mayStartAt) : undefined;
  };

  const started = (request: SlotRequest) => {
    const held = inState("held").length;
    if (held >= limit) fault(`${request.taskId} starts while ${held} tasks hold the ${limit} slots`);
    if (refusedUntil(request) > now())
      fault(`${request.taskId} starts though its provider refuses another task for now`);
    // Those that waited for a provider, and can start now, keep their room until they are asked for again.
    const ahead = inState("waiting").filter(({ request: other }) => isAhead(other, request));
    const [first] = ahead;
    if (first && held + ahead.length >= limit) {
      fault(`${request.taskId} starts before ${first.request.taskId}, which is ahead of it`);
    }
  };

  const note = (record: TaskRecord) => {
    const state = stateOf(record);
    const { sessionID } = record.task;
    const request = slotRequestOf(record.snapshot.context);
    const isStarted = state === "held" && tasks.get(sessionID)?.state === "waiting";
    tasks.delete(sessionID);
    // Without a grant: a task that waited for a person or for its own tasks is not "waiting", and may go on.
    if (isStarted) started(request);
    if (state !== "none") tasks.set(sessionID, { state, request, aheadUntil: goesAheadUntil(record) });
    noteIdle();
  };

  const forget = (taskIds: readonly string[]) => {
    for (const taskId of taskIds) tasks.delete(taskId);
    noteIdle();
  };

  return {
    open: () => [...tasks.keys()],
    checkNoneIdle: () => {
      if (idleSince === undefined || now() - idleSince <= SERVED_WITHIN) return;
      const [waiting] = inState("waiting");
      fault(`${waiting?.request.taskId} waits though a slot has been free for ${now() - idleSince} ms`);
    },
    wasPaused: () => {
      idleSince = undefined;
      noteIdle();
    },
    watch: (store) => {
      forget([...tasks.keys()]);
      return {
        ...store,
        commit: (change) => {
          const lost = store.commit(change);
          change.records.forEach(note);
          forget(lost);
          return lost;
        },
        adopt: (at, wants) => {
          const work = store.adopt(at, wants);
          work.tasks.forEach(note);
          return work;
        },
        remove: (taskIds) => {
          store.remove(taskIds);
          forget(taskIds);
        },
        heartbeat: (at) => {
          const lost = store.heartbeat(at);
          forget(lost);
          return lost;
        },
        grantSlots: (requests) => {
          for (const request of requests) {
            if (!tasks.has(request.taskId)) tasks.set(request.taskId, { state: "waiting", request });
          }
          const granted = new Set(store.grantSlots(requests));
          const inOrder = requests
            .filter(({ taskId }) => granted.has(taskId))
            .sort((a, b) => Number(isAhead(b, a)) - Number(isAhead(a, b)));
          for (const request of inOrder) {
            if (tasks.get(request.taskId)?.state === "held") continue;
            tasks.delete(request.taskId);
            started(request);
            tasks.set(request.taskId, { state: "held", request });
          }
          noteIdle();
          return [...granted];
        },
      };
    },
  };
};
