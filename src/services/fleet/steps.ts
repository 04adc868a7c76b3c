import { z } from "zod";
import { addUp, noProgress, type Progress } from "../../task.ts";
import type { ProgressLog } from "../runtime/progress.ts";
import type { Store } from "../store/store.ts";

/** Names of tools that are counted apart: no agent has more. */
const MOST_TOOLS = 1_000;

const Count = z.int().nonnegative();
const ToolName = z.string().max(200);

/**
 * What a server has counted of a task, and of the tasks below it there, which nobody else knows. It comes from another
 * server: what is no count is refused.
 */
export const Steps = z.object({
  toolCalls: Count,
  toolCallsByName: z
    .record(ToolName, Count.positive())
    .refine((byName) => Object.keys(byName).length <= MOST_TOOLS, "too many tools"),
  /** Those of the task itself, oldest first. */
  lastTools: z.array(ToolName).max(5),
  tokens: Count,
  cost: z.number().nonnegative().max(Number.MAX_SAFE_INTEGER),
  /** By that server's clock. */
  lastUpdate: z.iso.datetime(),
});
export type Steps = z.infer<typeof Steps>;

/** Adds up what was counted of a task and of the tasks below it. */
export const addUpSteps = (own: Progress, below: readonly Progress[]): Steps => {
  const all = [own, ...below];
  const byName = new Map<string, number>();
  for (const { toolCallsByName } of all) {
    for (const [name, calls] of Object.entries(toolCallsByName)) byName.set(name, (byName.get(name) ?? 0) + calls);
  }
  return {
    toolCalls: all.reduce((sum, { toolCalls }) => sum + toolCalls, 0),
    toolCallsByName: Object.fromEntries(byName),
    lastTools: own.lastTools,
    ...addUp(all),
    // Such times have the order of their texts.
    lastUpdate:
      all
        .map(({ lastUpdate }) => lastUpdate)
        .sort()
        .at(-1) ?? own.lastUpdate,
  };
};

/**
 * Creates a function that begins to count a task: what that returns says what the task, and those below it, have done by now.
 * It is asked often, so those that have ended are read once.
 */
export const createStepCounts =
  (store: Pick<Store, "get" | "below">, progress: Pick<ProgressLog, "of">) =>
  (taskId: string): (() => Steps) => {
    const ended = new Map<string, Progress>();
    const progressOf = (id: string): Progress => {
      const counted = progress.of(id);
      // One that goes on counts anew once it has ended.
      if (counted) ended.delete(id);
      const found = counted ?? ended.get(id) ?? store.get(id)?.task.progress ?? noProgress("");
      if (!counted) ended.set(id, found);
      return found;
    };
    return () =>
      addUpSteps(
        progressOf(taskId),
        store.below([taskId]).map(({ sessionID }) => progressOf(sessionID)),
      );
  };
