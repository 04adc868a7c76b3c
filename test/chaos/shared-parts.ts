import type { Ids } from "../../src/services/platform/ids.ts";
import type { Log } from "../../src/services/platform/log.ts";
import type { Store } from "../../src/services/store/store.ts";
import { createFakeHost, type FakeSession } from "../fakes/fake-host.ts";
import { createSessionFile, createSharedSessionFile, type SessionFile } from "../fakes/session-file.ts";
import { PARENT } from "../fakes/stage.ts";
import { createVirtualClock, type VirtualClock } from "../fakes/virtual-clock.ts";
import { type AbandonedRuns, createAbandonedRuns } from "./abandoned-runs.ts";
import { type ApiRequests, createApiRequests } from "./api.ts";
import { type Clocks, createClocks } from "./clocks.ts";
import { createDeliveries, type Deliveries } from "./deliveries.ts";
import { createFileOfProcesses } from "./file-of-processes.ts";
import type { FileSituation } from "./file-situations.ts";
import { USUAL_LIMITS } from "./limits.ts";
import { createTaskObservations, type TaskObservations } from "./observations.ts";
import { createOwnershipWatch, type OwnershipWatch } from "./ownership-watch.ts";
import type { Schedule } from "./schedule.ts";
import { createSequence, type Sequence } from "./sequence.ts";
import { createSlotWatch, type SlotWatch } from "./slot-watch.ts";
import { createFileStorage, createMemoryStorage, type Storage } from "./storage.ts";

/** Creates ascending ids that are the same each time a schedule is run. */
const createPlainIds = (): Ids => {
  let count = 0;
  const next = (kind: string) => {
    count += 1;
    return `${kind}_${String(count).padStart(8, "0")}`;
  };
  return {
    message: () => next("msg"),
    parts: (wanted) => {
      const stem = next("prt");
      return Array.from({ length: wanted }, (_, index) => `${stem}${String(index).padStart(4, "0")}`);
    },
  };
};

/** The users' own sessions. */
export const USER_SESSIONS = [PARENT, "ses_second", "ses_third"];

/** What the OpenCode processes of a schedule share: the time, the sessions, the store, and what was seen of the tasks. */
interface SharedParts {
  /** The true time. */
  clock: VirtualClock;
  clocks: Clocks;
  ids: Ids;
  log: Log;
  sessions: SessionFile<FakeSession>;
  storage: Storage;
  tracks: TaskObservations;
  deliveries: Deliveries;
  abandonedRuns: AbandonedRuns;
  sequence: Sequence;
  slotWatch: SlotWatch;
  /** Undefined where one process has it all. */
  ownership: OwnershipWatch | undefined;
  /** The sessions that users created as copies of theirs. */
  copies: Set<string>;
  /** The sessions in which a turn of a person was stopped, by that person or with a task above it. */
  stopped: Set<string>;
  /** What was asked by the status API. */
  apiRequests: ApiRequests;
  /** The stores of the living processes. */
  stores: (() => Store)[];
  /** Descriptions of the violated invariants. */
  faults: string[];
  fault(words: string): void;
}

/**
 * True for a log line that reports a fault of the plugin; the death of a process is none. Its message alone counts: what
 * the host failed to do stands among the fields after it.
 */
export const isFault = (line: string): boolean => {
  const [message = ""] = line.split(" {", 1);
  return (
    /\b(fault in|listener failed|could not be stored|heartbeat failed|poll failed|damaged)\b/.test(message) &&
    !/the process has died|a fault in the call/.test(line)
  );
};

export const createSharedParts = (
  {
    store,
    processes = 1,
    slots,
    limits = USUAL_LIMITS,
    parentsTake,
    clocksOff,
  }: Pick<Schedule, "store" | "processes" | "slots" | "limits" | "parentsTake" | "clocksOff">,
  note: (situation: FileSituation) => void = () => undefined,
): SharedParts => {
  const sequence = createSequence();
  const faults: string[] = [];
  const fault = (words: string) => {
    if (faults.includes(words)) return;
    faults.push(words);
    sequence.note("engine", `not as it ought to be: ${words}`);
  };
  const clock = createVirtualClock();
  const ids = createPlainIds();
  const sessions = processes > 1 ? createSharedSessionFile<FakeSession>() : createSessionFile<FakeSession>();
  const host = createFakeHost(clock, ids, sessions);
  for (const id of USER_SESSIONS) host.addSession(id, { habit: parentsTake === "told" ? "work" : "reply" });
  const write = (message: string, extra?: Record<string, unknown>) => {
    const line = `${message} ${JSON.stringify(extra ?? {})}`;
    if (isFault(line)) fault(`the log says: ${line}`);
  };
  const log: Log = { info: write, error: write };
  const clocks = createClocks(clock, clocksOff);
  const storageOf = (): Storage => {
    if (store === "memory") return createMemoryStorage(clocks.machineOf);
    return processes > 1 ? createFileOfProcesses(log, clock, clocks.machineOf, note) : createFileStorage(log);
  };
  const storage = storageOf();
  const stores: (() => Store)[] = [];
  const isAttended = (taskId: string) => stores.some((open) => open().isAttended(taskId));
  const tracks = createTaskObservations(fault, clock.now, isAttended);
  const abandonedRuns = createAbandonedRuns(clock.now, fault);
  return {
    clock,
    clocks,
    ids,
    log,
    sessions,
    storage,
    tracks,
    deliveries: createDeliveries({
      ...{ host, tracks, abandonedRuns, isHeadless: limits.isHeadless, fault },
      mayBeUnaware: () => storage.trouble?.isUnderWay() === true,
    }),
    abandonedRuns,
    sequence,
    // Until when a provider refuses is a time of the process's own clock.
    slotWatch: createSlotWatch({ total: slots, ...limits.concurrency }, clock.now, (words) => {
      if (!clocks.areOff()) fault(words);
    }),
    ownership: processes > 1 ? createOwnershipWatch(storage, clock.now, clocks, fault, note) : undefined,
    copies: new Set(),
    stopped: new Set(),
    apiRequests: createApiRequests(fault),
    stores,
    faults,
    fault,
  };
};
