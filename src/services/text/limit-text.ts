import type { BudgetedUsage, TaskError } from "../../task.ts";
import { dollars, duration } from "./amounts.ts";
import { quoteLine } from "./own-text.ts";
import { SHORT_CHARS } from "./request-text.ts";

/** What a task may use, its subtasks included; undefined: without a limit. Cost in US dollars. */
type TaskBudget = { [Kind in keyof BudgetedUsage]?: number | undefined };

/** What a task has used, and the number of its subtasks, whose usage is included. */
type Used = BudgetedUsage & { tasks: number };

/** Costs are sums of floating-point numbers: two that differ by less are the same. In US dollars. */
const SAME_COST = 1e-9;

const count = (amount: number): string => amount.toLocaleString("en-US");

/** Names which budget a task is beyond, by how much, and what to do; undefined when it is within all. */
export const beyondBudget = (used: Used, budget: TaskBudget): TaskError | undefined => {
  const { toolCalls, tokens, cost } = budget;
  const [figures, option] =
    toolCalls !== undefined && used.toolCalls > toolCalls
      ? [`${count(used.toolCalls)} of ${count(toolCalls)} tool calls`, "budget.toolCalls"]
      : tokens !== undefined && used.tokens > tokens
        ? [`${count(used.tokens)} of ${count(tokens)} tokens`, "budget.tokens"]
        : cost !== undefined && used.cost > cost + SAME_COST
          ? [`${dollars(used.cost)} of ${dollars(cost)}`, "budget.cost"]
          : [];
  if (figures === undefined) return undefined;
  const subtasks =
    used.tasks === 0 ? "" : used.tasks === 1 ? ", its 1 task included" : `, its ${used.tasks} tasks included`;
  return {
    name: "BudgetExceeded",
    kind: "budget",
    message: `It used ${figures}${subtasks}, and was stopped. A retry goes on from there with a new budget. Otherwise launch one with less to do, or ask the user to raise the option ${option}.`,
  };
};

/** Refuses a launch by a session that has as many tasks as it may have. */
export const tooManyTasks = (limit: number): string =>
  `This session has ${count(limit)} tasks, and that is the limit (option "budget.tasksPerParent"); nothing was launched. Do the work here, or resume a completed task; the user can raise the option.`;

/** Reports that a task called one tool again and again with the same arguments, and what to do. */
export const tooManyRepeats = ({ tool, times }: { tool: string; times: number }): TaskError => ({
  name: "LoopDetected",
  kind: "loop",
  message: `It called the tool ${tool} ${times} times in a row with the same arguments, and was stopped. Retry it with a prompt that says how to go on where that call does not help, or ask the user to raise the option loop.repeat.`,
});

/** Reports that a model took steps without a word, of which the provider did not say that they were an end, and what to do. */
export const neverEnded = (steps: number): TaskError => ({
  name: "NoStopReason",
  kind: "loop",
  message: `Its model answered ${steps} times in a row without a word and without a tool call, and the provider did not say that it had finished. OpenCode would have asked it again for ever, so the run was stopped. Launch one with another model, or tell the user that the provider sends no finish_reason that OpenCode knows.`,
});

/** Reports that a provider makes a run wait for longer than it may, and what to do. `until` and `now` in epoch milliseconds. */
export const servedTooLate = (
  { message, until }: { message: string; until: number },
  { now, limit }: { now: number; limit: number },
): TaskError => ({
  name: "ProviderRefuses",
  kind: "provider",
  message: `Its provider refuses it, and serves again in ${duration(until - now)} only: ${quoteLine(message, SHORT_CHARS)}. A task waits for that for ${duration(limit)} at most, so it was stopped. A retry goes on from there, with another model where one is named. Otherwise ask the user to raise the option timeouts.provider.`,
});

/** Reports that a run took longer than it may, and what to do. Both in milliseconds. */
export const tookTooLong = (taken: number, limit: number): TaskError => ({
  name: "RunTimeout",
  kind: "timeout",
  message: `It ran for ${duration(taken)} of at most ${duration(limit)}, and was stopped. A retry goes on from there with as much time again. Otherwise launch one with less to do, or ask the user to raise the option timeouts.run.`,
});
