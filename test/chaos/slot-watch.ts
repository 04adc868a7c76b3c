import type { SlotRequest } from "../../src/machines/task/events.ts";
import { isStopping } from "../../src/machines/task/machine.ts";
import { slotRequestOf } from "../../src/machines/task/slot.ts";
import { GOES_AHEAD_MS } from "../../src/machines/task/slot-queue.ts";
import type { Store, TaskRecord } from "../../src/services/store/store.ts";
import { holds, type Kind, type Known, type Limits, queued, starters, usage } from "../model/capacity-reference.ts";

/** What is known of the slots of the living process: from what it stores, not from how the engine counts. */
export interface SlotWatch {
  /** Wraps the store of a new process, whose predecessors are dead. */
  watch(store: Store): Store;
  /** The tasks that hold a slot, or wait for one. */
  open(): string[];
  /**
   * When the run under way got its slot, epoch milliseconds: its first, or the last one that it had to wait for. Undefined
   * where it has none.
   */
  begunAt(taskId: string): number | undefined;
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

/** Until when nothing starts on the task's provider: it has refused the task, and not answered it since. */
const goesAheadUntil = ({ snapshot: { context } }: TaskRecord): number | undefined =>
  context.retry && context.retry.until + GOES_AHEAD_MS;

/**
 * Watches that no run starts at or above a limit, none before one that is ahead of it, none on a provider that refuses
 * another one for now, and none waits for nothing. The reference of the model tests says who may start.
 */
export const createSlotWatch = (limits: Limits, now: () => number, fault: (words: string) => void): SlotWatch => {
  const tasks = new Map<string, { state: State; request: SlotRequest; aheadUntil?: number | undefined }>();
  /** When each run got its slot, and since when it waits for another model's. Outlives the process, as what it stores does. */
  const begun = new Map<string, { at: number; waitsSince?: number | undefined }>();
  /** Since when a run could start, or from when on; undefined where none can. */
  let idleSince: number | undefined;

  /** What the reference knows of the tasks; of equal ones that task comes first, for either may. */
  const known = (first?: SlotRequest) => {
    const reference: Record<string, Known> = first ? { [first.taskId]: queued(first.since) } : {};
    const kinds: Record<string, Kind> = first ? { [first.taskId]: first } : {};
    for (const [taskId, { state, request, aheadUntil = 0 }] of tasks) {
      if (taskId === first?.taskId) continue;
      const phase = state === "held" ? "working" : "queued";
      reference[taskId] = { ...queued(request.since), phase, refusedUntil: aheadUntil };
      kinds[taskId] = request;
    }
    return { reference, kinds };
  };

  const mayStart = (at: number): boolean => {
    const { reference, kinds } = known();
    return starters(reference, kinds, limits, at).length > 0;
  };

  const noteIdle = () => {
    if (mayStart(now())) {
      idleSince = Math.min(idleSince ?? now(), now());
      return;
    }
    const times = [...tasks.values()].flatMap(({ aheadUntil = 0 }) => (aheadUntil > now() ? aheadUntil : []));
    idleSince = times.sort((one, other) => one - other).find(mayStart);
  };

  const started = (request: SlotRequest) => {
    const { reference, kinds } = known(request);
    if (starters(reference, kinds, limits, now()).includes(request.taskId)) return;
    const used = usage(reference, { [request.taskId]: request, ...kinds }, limits);
    const holders = Object.keys(reference).filter((id) => reference[id] && holds(reference[id]));
    fault(
      `${request.taskId} starts out of turn or above a limit: ${holders.join(", ") || "nobody"} at work, ${used.map(({ used, limit }) => `${used} of ${limit}`).join(", ")}`,
    );
  };

  /** One that goes on with another model waits again. Where it has to wait for a slot, its time counts anew. */
  const noteBegin = (taskId: string, state: State | "idle") => {
    const known = begun.get(taskId);
    if (state === "idle") begun.delete(taskId);
    if (state === "waiting" && known) known.waitsSince ??= now();
    if (state !== "held") return;
    const waited = known?.waitsSince !== undefined && known.waitsSince < now();
    begun.set(taskId, { at: known && !waited ? known.at : now() });
  };

  const note = (record: TaskRecord, aheadUntil: number | undefined) => {
    const state = stateOf(record);
    const { sessionID } = record.task;
    const request = slotRequestOf(record.snapshot.context);
    // One that waits for its next model's slot and is cancelled is stopped like a run at work; nothing starts.
    const isStarted = state === "held" && tasks.get(sessionID)?.state === "waiting" && !isStopping(record.snapshot);
    noteBegin(sessionID, record.snapshot.value.run === "idle" ? "idle" : state);
    tasks.delete(sessionID);
    // Without a grant: a task that waited for a person or for its own tasks is not "waiting", and may go on.
    if (isStarted) started(request);
    if (state !== "none") tasks.set(sessionID, { state, request, aheadUntil });
    noteIdle();
  };

  const forget = (taskIds: readonly string[]) => {
    for (const taskId of taskIds) tasks.delete(taskId);
    noteIdle();
  };

  return {
    open: () => [...tasks.keys()],
    begunAt: (taskId) => {
      const known = begun.get(taskId);
      return known?.waitsSince === undefined ? known?.at : undefined;
    },
    checkNoneIdle: () => {
      if (idleSince === undefined || now() - idleSince <= SERVED_WITHIN) return;
      const { reference, kinds } = known();
      fault(`${starters(reference, kinds, limits, now()).join(", ")} could start for ${now() - idleSince} ms`);
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
          for (const record of change.records) note(record, goesAheadUntil(record));
          forget(lost);
          return lost;
        },
        adopt: (at, wants) => {
          const work = store.adopt(at, wants);
          // What refused a run of the dead process is not asked again by anybody.
          for (const record of work.tasks) note(record, undefined);
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
            const known = tasks.get(request.taskId);
            // One that goes on with another model gives up the slot of the one before.
            const isAnew = request.goesOn && known?.request.model !== request.model;
            if (!known || isAnew) tasks.set(request.taskId, { state: "waiting", request });
          }
          const granted = new Set(store.grantSlots(requests));
          const inOrder = requests
            .filter(({ taskId }) => granted.has(taskId) && tasks.get(taskId)?.state !== "held")
            .sort((one, other) => other.priority - one.priority || one.since - other.since);
          for (const request of inOrder) {
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
