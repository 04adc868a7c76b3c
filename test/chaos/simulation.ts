import type { FakeHost } from "../fakes/fake-host.ts";
import type { Stage } from "../fakes/stage.ts";
import type { VirtualClock } from "../fakes/virtual-clock.ts";
import type { AbandonedRuns } from "./abandoned-runs.ts";
import type { Agents } from "./agents.ts";
import type { Api, ApiRequests } from "./api.ts";
import type { Calls } from "./calls.ts";
import type { Clocks, MachineClock } from "./clocks.ts";
import type { CountedProcess } from "./counted-process.ts";
import type { Deliveries } from "./deliveries.ts";
import type { EventStream } from "./event-stream.ts";
import type { FileSituation } from "./file-situations.ts";
import type { LimitWatch } from "./limit-watch.ts";
import type { Limits } from "./limits.ts";
import type { TaskObservations } from "./observations.ts";
import type { OwnershipWatch } from "./ownership-watch.ts";
import type { Sequence } from "./sequence.ts";
import type { SlotWatch } from "./slot-watch.ts";
import type { Step } from "./steps.ts";
import type { Storage } from "./storage.ts";
import type { UsageCounts } from "./usage-counts.ts";

/** The plugin on a fake host, with the faults between them and a record of everything that was seen. */
export interface Simulation {
  /** The true time. */
  clock: VirtualClock;
  /** The clock that the plugin and its host read. */
  machineClock: MachineClock;
  clocks: Clocks;
  /** Notes what has occurred to the file, or to the clocks. */
  note(situation: FileSituation): void;
  /** The host itself: calls made here meet no fault. */
  host: FakeHost;
  stage: Stage;
  storage: Storage;
  wire: EventStream;
  calls: Calls;
  agents: Agents;
  /** The status API of this process. */
  api: Api;
  apiRequests: ApiRequests;
  tracks: TaskObservations;
  deliveries: Deliveries;
  abandonedRuns: AbandonedRuns;
  sequence: Sequence;
  slotWatch: SlotWatch;
  /** The sessions that users created as copies of theirs. */
  copies: Set<string>;
  /** The sessions in which a turn of a person was stopped, by that person or with a task above it. */
  stopped: Set<string>;
  usage: UsageCounts;
  limits: Limits;
  limitWatch: LimitWatch;
  /** The sessions whose agents were never reminded of their tasks. */
  unreminded(): string[];
  /** Undefined where one process has the whole store. */
  ownership: OwnershipWatch | undefined;
  /** As whom the process owns tasks in the store. */
  owner(): string;
  life(): CountedProcess;
  /** Stops the process, as SIGSTOP does, until it is woken. */
  freeze(): void;
  wake(): void;
  /** The machine slept: the process was stopped for so many milliseconds, and goes on. */
  wasPaused(ms: number): void;
  isFrozen(): boolean;
  /** The sessions that were at work when the process woke, each with the message that its model was writing. */
  atWorkOnWaking(): ReadonlyMap<string, string>;
  /** Since when the process has been awake, epoch milliseconds; undefined while it is stopped or dead. */
  awakeSince(): number | undefined;
  /** Where nobody sat at the keyboard, somebody opens OpenCode. */
  openForPeople(): Promise<void>;
  /** From now on no process dies by itself. */
  liveOn(): void;
  /** Descriptions of the violated invariants. */
  faults: readonly string[];
  fault(words: string): void;
  /** Kills the process together with its host. After `down` milliseconds another one starts. */
  reboot(down: number): Promise<void>;
  /** The user quits OpenCode: its process starts the plugin once more, and ends `lingers` milliseconds later. */
  quit(lingers: number): Promise<void>;
  /** Compares what is stored with what was seen. */
  look(): void;
}

/** The action of each kind of step. */
export type StepActions = {
  [Do in Step["do"]]: (world: Simulation, step: Extract<Step, { do: Do }>) => Promise<void> | void;
};
