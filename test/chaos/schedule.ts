import type { Toolset } from "../../src/options.ts";
import type { OnParentCancel } from "../../src/tools/subtasks/subtasks-toolset.ts";
import type { Limits } from "./limits.ts";
import type { Step } from "./steps.ts";

/** The steps that happen to an engine, its host and its store, and the settings they start with. */
export interface Schedule {
  store: "memory" | "file";
  /** How many OpenCode processes share the store; if that is a file, each by a connection of its own. Default: 1. */
  processes?: number | undefined;
  /**
   * How many milliseconds each process's clock is off: each is on a machine of its own. Default: all are on one machine, whose
   * clock is right until it is set.
   */
  clocksOff?: number[] | undefined;
  recovery: "continue" | "fail";
  /** How many tasks may be at work at once. */
  slots: number;
  /** The tools that agents have. Default: `tasks`. */
  toolset?: Toolset | undefined;
  /** What happens to a subtask when the turn that waits for it is aborted. Default: it is cancelled. */
  onParentCancel?: OnParentCancel | undefined;
  /** Milliseconds that the models of people's sessions take to answer; "told": they answer when a step says so. Default: none. */
  parentsTake?: number | "told" | undefined;
  /** At how many calls to the host and the store each process dies. Default: none does. */
  lifetime?: number | undefined;
  /** What else the options allow. Default: the usual limits. */
  limits?: Limits | undefined;
  steps: Step[];
}
