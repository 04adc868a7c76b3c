import type { TaskFacts } from "../../src/task.ts";
import type { Machines } from "./charts.ts";

/** Which tasks there are, and what can happen besides that they end and that their results are read. */
export interface Family {
  /** The process that each task is in at first. */
  tasks: readonly (0 | 1)[];
  /** The option `wake` of all tasks. Default: `each`. */
  wake?: TaskFacts["wake"];
  /**
   * Runs are followed, too: how the host says that an agent has finished, and how one is continued whose process died. Else a
   * run ends by itself at any time.
   */
  followsRuns?: boolean;
  /** The parent's tool calls that wait: in which process, and for which tasks. */
  calls?: readonly { process: 0 | 1; tasks: readonly number[] }[];
  /** Processes die, and are followed by others, at any time and between any two things that they store. */
  dies?: boolean;
  /** Processes stand still for so long that the other one takes over, and then go on. */
  standsStill?: boolean;
  /** The store cannot be written when a process that stood still looks what it has lost, and can be right after that. */
  heartbeatFails?: boolean;
  /** Calls to the host fail, whether they have arrived or not; notices arrive late, or twice; the host's events are lost. */
  isUnreliable?: boolean;
  /** The host reports that it has stored a notice, beside what it answers. */
  reportsStored?: boolean;
  /** The parent's turns fail before its model has read anything. */
  turnsFail?: boolean;
  /** The host refuses notices for good. */
  refuses?: boolean;
  /** The parent is deleted. */
  deletes?: boolean;
  /** A person takes back messages of the parent, or archives it, and uses it again later. */
  setsAside?: boolean;
  /** A person stops the parent's turn, and writes to it later. */
  stops?: boolean;
  /** The host does not find the parent for a while, though it is there. */
  misses?: boolean;
  /** The provider keeps the parent's conversation in its prompt cache, for a while in which ends wait for each other. */
  caches?: boolean;
  /** The parent launches other tasks meanwhile, which shows that it is there. */
  launches?: boolean;
  /** Charts with a mistake in them. */
  machines?: Machines;
  /** A mistake in what is done around the charts. */
  mistake?: Mistake;
}

/** Mistakes around the charts, of which the exploration is to find each. */
export type Mistake =
  | "the notices of a dead process are not taken over"
  | "who takes over does not say which notices are under way"
  | "who takes over does not ask whether a call returned"
  | "effects come before what led to them is stored"
  | "a process that stood still keeps what it has lost"
  | "a notice is stored that carries the end of a task which another process has"
  | "a call returns its output though another process delivers what is in it";
