import type { Recovery } from "../../machines/task/events.ts";
import type { Concurrency } from "../../machines/task/slot-queue.ts";
import type { Wake } from "../../task.ts";
import type { Interface } from "../host/this-process.ts";
import type { Retention } from "../store/store.ts";
import type { TaskBudget } from "../text/limit-text.ts";
import type { NoticeStyle } from "../text/notice-text.ts";
import type { SchemaRules } from "../typed-results/typed-results.ts";
import type { WorktreeOptions } from "../worktrees/worktrees.ts";
import type { FallbackRules, GateRules } from "./launch/agent-rules.ts";
import type { ForkLimits } from "./launch/fork-plan.ts";

/** The options of the plugin that an engine needs. */
export interface EngineOptions {
  /** How many tasks deep a task may launch tasks. */
  maxDepth: number;
  timeouts: {
    /** Milliseconds of silence after which a running task is stale. */
    stale: number;
    /** Milliseconds that a run may take; undefined: any time. */
    run: number | undefined;
  };
  /** What a task may use, its descendants included, and how many tasks a parent session may have. */
  budget: TaskBudget & { tasksPerParent: number };
  loop: {
    /** How often in a row a task may call one tool with the same arguments: at this number its run ends. */
    repeat: number;
    /** Tools that only read tasks: calls of them do not count. */
    readingTools: readonly string[];
  };
  concurrency: Concurrency;
  notice: NoticeStyle;
  fork: ForkLimits;
  recovery: Recovery;
  /** When results wake the agent of the parent session, where a launch does not say it. */
  wake: Wake;
  /** Which models go on, by agent, when a model is refused, and after how many milliseconds of refusals for now. */
  fallback: FallbackRules;
  /** Which commands check the answers of which agents. */
  gate: GateRules;
  /** Which schemas the results of which agents must fit. */
  schema: SchemaRules;
  /** Which ended tasks are kept. */
  retention: Retention;
  worktree: WorktreeOptions;
  attention: {
    /** Milliseconds after which a request that nobody answers is rejected; undefined: never. */
    timeout: number | undefined;
    /** How this plugin's command is called in a terminal. */
    command: string;
    /** Through what people see the sessions of this process. */
    seenThrough: Interface;
  };
  /** True where nobody can answer for a session that is no child of the one in view, as in `opencode run`. */
  isHeadless: boolean;
}
