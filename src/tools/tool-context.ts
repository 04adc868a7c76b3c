import type { ToolContext } from "@opencode-ai/plugin";
import type { Engine } from "../services/engine.ts";
import type { Clock } from "../services/platform/clock.ts";
import type { Outcome } from "../services/platform/result.ts";

/** What every tool is made of. */
export interface ToolDeps {
  /** All but `answer`: no model answers for a person. */
  engine: Omit<Engine, "answer">;
  clock: Clock;
  /** What the tools' names begin with. */
  prefix: string;
  /** True in `opencode run`, which ends with its agent's first answer. */
  isHeadless: boolean;
}

/** The host says which call it is, and whether a person named an agent in the prompt; its types do not. */
export type CallContext = ToolContext & { callID?: string; extra?: { bypassAgentCheck?: boolean } };

/**
 * The value of an outcome.
 * @throws Error with the reason, which the host shows to the agent as the tool's error.
 */
export const orThrow = <T>(outcome: Outcome<T>): T => {
  if (outcome.ok) return outcome.value;
  throw new Error(outcome.reason);
};

/** What a call says that waits when the plugin is disposed of: nothing of what it waited for is told by it. */
export const shutdownError = (taskIds: string[]): Error =>
  new Error(
    `OpenCode is closing. Nothing is lost: ${taskIds.join(", ")} will go on when OpenCode is there again, and a notice comes of each end.`,
  );
