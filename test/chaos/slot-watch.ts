import { statePath } from "../../src/machines/chart.ts";
import type { SlotRequest } from "../../src/machines/task/events.ts";
import { isStopping } from "../../src/machines/task/machine.ts";
import { slotRequestOf } from "../../src/machines/task/slot.ts";
import { GOES_AHEAD_MS } from "../../src/machines/task/slot-queue.ts";
import type { Store, TaskRecord } from "../../src/services/store/store.ts";
import { holds, type Kind, type Known, type Limits, queued, starters, usage } from "../model/capacity-reference.ts";

/** What is known of the slots of all living processes: from what they store, not from how the engine counts. */
export interface SlotWatch {
  /** Wraps the store that a process opens. What it had before is forgotten. */
  watch(store: Store, process: SlotProcess): Store;
  /** The tasks that hold a slot, or wait for one. */
  open(): string[];
  /** When the run under way got its first slot, epoch milliseconds; undefined where it has none yet. */
  begunAt(taskId: string): number | undefined;
  /** Reports a run that waits though a slot has been free for a while. */
  checkNoneIdle(): void;
  /** A process was stopped for a while: until now it could serve nobody. */
  wasPaused(): void;
}

/** A process whose runs ask for slots. */
export interface SlotProcess {
  isOver(): boolean;
  isPaused(): boolean;
}

/** `refused`: it needs none until its provider serves again. */
type State = "waiting" | "held" | "refused" | "none";

/** Milliseconds after which a free slot must have been given to one that waits: slots are asked for every second. */
const SERVED_WITHIN = 3_000;

/**
 * Milliseconds without a heartbeat after which other processes may take a process for dead, and its slots for free: its lease
 * (README: 15 s), less a heartbeat, for those that its writes bring along are not seen here.
 */
const DOUBTED_AFTER = 12_000;

/** A run that holds a slot, or waits for one. */
interface OpenRun {
  state: State;
  request: SlotRequest;
  aheadUntil?: number | undefined;
  process: SlotProcess;
}

/** Says again what the engine's own rule says, so that a mistake in that one is seen. */
const stateOf = ({ snapshot: { value, context } }: TaskRecord): State => {
  if (value.run === "idle") return "none";
  if (statePath(value.run) === "pausing.paused") return context.pause?.refusal ? "refused" : "none";
  if (value.run === "queued") return "waiting";
  const needsNone =
    context.userRequests.length > 0 ||
    statePath(value.run) === "active.working.awaitingTasks" ||
    (context.blockedCalls ?? []).length > 0;
  return needsNone ? "none" : "held";
};

/** True for a run whose time begins, or begins anew, when it leaves its present state. */
const isUntimed = ({ snapshot: { value } }: TaskRecord): boolean =>
  ["idle", "pausing.paused", "active.prompting.gatingBefore"].includes(statePath(value.run));

/** Until when nothing starts on the task's provider: it has refused the task, and not answered it since. */
const goesAheadUntil = ({ snapshot: { context } }: TaskRecord): number | undefined => {
  const { until } = context.pause?.refusal ?? context.retry ?? {};
  return until && until + GOES_AHEAD_MS;
};

/**
 * Watches that no run starts at or above a limit, none before one that is ahead of it, none on a provider that refuses
 * another one for now, and none waits for nothing. The reference of the model tests says who may start. What a dead process
 * has does not count; what one has that gives no sign of life may count or not, and only what is wrong in either case is.
 */
export const createSlotWatch = (limits: Limits, now: () => number, fault: (words: string) => void): SlotWatch => {
  const tasks = new Map<string, OpenRun>();
  /** When each run got its slot, and since when it waits for another model's. Outlives the process, as what it stores does. */
  const begun = new Map<string, { at: number; waitsSince?: number | undefined }>();
  /** Since when each run that waits could start, or from when on. */
  let idleSince = new Map<string, number>();
  const heartbeats = new Map<SlotProcess, number>();

  const isDoubted = (process: SlotProcess): boolean => now() - (heartbeats.get(process) ?? now()) > DOUBTED_AFTER;

  /** What the reference knows of those tasks; of equal ones that task comes first, for either may. */
  const known = (runs: Iterable<[string, OpenRun]>, first?: SlotRequest) => {
    const reference: Record<string, Known> = first ? { [first.taskId]: queued(first.since) } : {};
    const kinds: Record<string, Kind> = first ? { [first.taskId]: first } : {};
    for (const [taskId, { state, request, aheadUntil = 0 }] of runs) {
      if (taskId === first?.taskId) continue;
      const phase = state === "held" ? "working" : state === "refused" ? "refused" : "queued";
      reference[taskId] = { ...queued(request.since), phase, refusedUntil: aheadUntil };
      kinds[taskId] = request;
    }
    return { reference, kinds };
  };

  /** What the reference knows, with all living processes; and, where that is another matter, without those that are doubted. */
  const possibilities = (first?: SlotRequest) => {
    const living = [...tasks].filter(([, { process }]) => !process.isOver());
    const sure = living.filter(([, { process }]) => !isDoubted(process));
    return (sure.length < living.length ? [living, sure] : [living]).map((runs) => known(runs, first));
  };

  /** The runs that could start at that time, of processes that are there to start them. */
  const idle = (at: number): string[] => {
    const [ids = [], ...others] = possibilities().map(({ reference, kinds }) => starters(reference, kinds, limits, at));
    return ids.filter((id) => {
      const process = tasks.get(id)?.process;
      return process && !process.isPaused() && !isDoubted(process) && others.every((other) => other.includes(id));
    });
  };

  const noteIdle = () => {
    const since = new Map(idle(now()).map((id) => [id, Math.min(idleSince.get(id) ?? now(), now())]));
    const times = [...tasks.values()].flatMap(({ aheadUntil = 0 }) => (aheadUntil > now() ? aheadUntil : []));
    for (const at of times.sort((one, other) => one - other)) {
      for (const id of idle(at)) if (!since.has(id)) since.set(id, at);
    }
    idleSince = since;
  };

  const started = (request: SlotRequest) => {
    const possible = possibilities(request);
    const mayStart = ({ reference, kinds }: ReturnType<typeof known>) =>
      starters(reference, kinds, limits, now()).includes(request.taskId);
    if (possible.some(mayStart)) return;
    for (const { reference, kinds } of possible.slice(0, 1)) {
      const used = usage(reference, { [request.taskId]: request, ...kinds }, limits);
      const holders = Object.keys(reference).filter((id) => reference[id] && holds(reference[id]));
      fault(
        `${request.taskId} starts out of turn or above a limit: ${holders.join(", ") || "nobody"} at work, ${used.map(({ used, limit }) => `${used} of ${limit}`).join(", ")}`,
      );
    }
  };

  /**
   * One that goes on with another model waits again. Where it has to wait for a slot, its time counts anew; after a pause it does
   * so in any case.
   */
  const noteBegin = (taskId: string, state: State | "untimed") => {
    const known = begun.get(taskId);
    if (state === "untimed") begun.delete(taskId);
    if (state === "waiting" && known) known.waitsSince ??= now();
    if (state !== "held") return;
    const waited = known?.waitsSince !== undefined && known.waitsSince < now();
    begun.set(taskId, { at: known && !waited ? known.at : now() });
  };

  const note = (record: TaskRecord, aheadUntil: number | undefined, process: SlotProcess) => {
    const state = stateOf(record);
    const { sessionID } = record.task;
    const request = slotRequestOf(record.snapshot.context);
    // One that waits for its next model's slot and is cancelled is stopped like a run at work; nothing starts.
    const isStarted = state === "held" && tasks.get(sessionID)?.state === "waiting" && !isStopping(record.snapshot);
    noteBegin(sessionID, isUntimed(record) ? "untimed" : state);
    tasks.delete(sessionID);
    // Without a grant: a task that waited for a person or for its own tasks is not "waiting", and may go on.
    if (isStarted) started(request);
    if (state !== "none") tasks.set(sessionID, { state, request, aheadUntil, process });
    noteIdle();
  };

  /** Those runs were given slots. */
  const noteGranted = (requests: readonly SlotRequest[], process: SlotProcess) => {
    const inOrder = requests
      .filter(({ taskId }) => tasks.get(taskId)?.state !== "held")
      .sort((one, other) => other.priority - one.priority || one.since - other.since);
    for (const request of inOrder) {
      tasks.delete(request.taskId);
      started(request);
      tasks.set(request.taskId, { state: "held", request, process });
    }
    noteIdle();
  };

  /** Those tasks have no slot any more; where a process has lost them, they may have one in another. */
  const forget = (taskIds: Iterable<string>, process?: SlotProcess) => {
    for (const taskId of taskIds) if (!process || tasks.get(taskId)?.process === process) tasks.delete(taskId);
    noteIdle();
  };

  return {
    open: () => [...tasks.keys()],
    begunAt: (taskId) => {
      const known = begun.get(taskId);
      return known?.waitsSince === undefined ? known?.at : undefined;
    },
    checkNoneIdle: () => {
      noteIdle();
      for (const [id, since] of idleSince) {
        if (now() - since > SERVED_WITHIN) fault(`${id} could start for ${now() - since} ms`);
      }
    },
    wasPaused: () => {
      idleSince.clear();
      noteIdle();
    },
    watch: (store, process) => {
      forget(tasks.keys(), process);
      heartbeats.set(process, now());
      return {
        ...store,
        commit: (change) => {
          const lost = store.commit(change);
          for (const record of change.records) {
            if (!lost.includes(record.task.sessionID)) note(record, goesAheadUntil(record), process);
          }
          forget(lost, process);
          return lost;
        },
        adopt: (at, wants) => {
          const work = store.adopt(at, wants);
          // What refused a run of the dead process is not asked again by anybody.
          for (const record of work.tasks)
            note(record, stateOf(record) === "refused" ? goesAheadUntil(record) : undefined, process);
          return work;
        },
        remove: (taskIds) => {
          store.remove(taskIds);
          forget(taskIds);
        },
        heartbeat: (at) => {
          const lost = store.heartbeat(at);
          heartbeats.set(process, now());
          forget(lost, process);
          return lost;
        },
        grantSlots: (requests) => {
          // A process that was stopped may ask for what another one has by now.
          const own = requests.filter(({ taskId }) => (tasks.get(taskId)?.process ?? process) === process);
          for (const request of own) {
            const known = tasks.get(request.taskId);
            // One that goes on with another model gives up the slot of the one before.
            const isAnew = request.goesOn && known?.request.model !== request.model;
            if (!known || isAnew) tasks.set(request.taskId, { state: "waiting", request, process });
          }
          const granted = store.grantSlots(requests);
          noteGranted(
            own.filter(({ taskId }) => granted.includes(taskId)),
            process,
          );
          return granted;
        },
        startQueued: (isWanted) => {
          const granted = store.startQueued(isWanted);
          noteGranted(
            granted.flatMap((taskId) => tasks.get(taskId)?.request ?? []),
            process,
          );
          return granted;
        },
      };
    },
  };
};
