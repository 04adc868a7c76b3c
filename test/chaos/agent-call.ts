import type { TaskStatus, Wake } from "../../src/task.ts";

/*
 * What agents ask for is said in words of no toolset. Each toolset says which of its tools does that, and what an answer of
 * that tool tells.
 */

/** What an agent asks for. Times are milliseconds. */
export type AgentCall =
  | ({ do: "launch" } & LaunchCall)
  | { do: "resume" | "retry" | "steer"; taskId: string; prompt: string }
  /** Reads a task or a batch; waits at most that long for the end of all that it reads, or not at all. */
  | { do: "read"; taskId?: string; batchId?: string; timeout?: number }
  /** Without an id: all tasks of the session. */
  | { do: "cancel" | "clear"; taskId?: string }
  | { do: "list" };

interface LaunchCall {
  title: string;
  prompt: string;
  agent: string;
  model?: string | undefined;
  wake?: Wake | undefined;
  isFork?: boolean;
  priority?: number;
  /** Waits for the end, where the toolset leaves the choice. */
  waits?: boolean;
}

/** The ends that a call waits for: those of the task that it launches, of one that is there, or of a batch. */
export interface Wait {
  for: { launched: true } | { taskId: string | undefined } | { batchId: string };
  /** Milliseconds; infinite for a call that waits for as long as it takes, undefined for one that may return before. */
  atMost: number | undefined;
  /** What happens to the task when the turn that waits is aborted. */
  whenAborted: "goesOn" | "isCancelled";
}

/** A call of a tool. */
export interface ToolCall {
  tool: string;
  args: Record<string, unknown>;
  wait?: Wait | undefined;
}

/** An end that an answer reports. */
export interface ReportedEnd {
  taskId: string;
  status: TaskStatus;
  /** The whole result, where the answer has it in a field of its own. */
  result?: string | undefined;
}

/** How agents speak to the tools of a toolset. */
export interface ToolsetWords {
  /** Translates a call. Undefined for one that the toolset does not offer; what a launch has no argument for is left out. */
  toolCall(call: AgentCall): ToolCall | undefined;
  /** True if a launch may have a priority. */
  hasPriorities: boolean;
  /** True for an answer that says that nothing was done. Most tools throw instead. */
  isRefusal(answer: string): boolean;
  /** Returns the task that the answer of a launch is about. */
  launchedIn(answer: string): string | undefined;
  /** Returns the ends that an answer reports. */
  endsIn(answer: string): ReportedEnd[];
}
