import type { HostEvent } from "../../src/machines/host-events.ts";
import { type BudgetedUsage, hasEnded } from "../../src/task.ts";
import type { Limits } from "./limits.ts";
import type { TaskObservations } from "./observations.ts";

const NOTHING: BudgetedUsage = { toolCalls: 0, tokens: 0, cost: 0 };

/** True for usage beyond a budget. Costs are sums of fractions: less than a millionth is no difference. */
export const isBeyond = (used: BudgetedUsage, limits: Limits): boolean =>
  used.toolCalls > limits.toolCalls ||
  used.tokens > (limits.tokens ?? Number.POSITIVE_INFINITY) ||
  used.cost > (limits.cost ?? Number.POSITIVE_INFINITY) + 1e-6;

export const sum = (one: BudgetedUsage, other: Partial<BudgetedUsage>): BudgetedUsage => ({
  toolCalls: one.toolCalls + (other.toolCalls ?? 0),
  tokens: one.tokens + (other.tokens ?? 0),
  cost: one.cost + (other.cost ?? 0),
});

/** Returns what was used since then. */
export const since = (used: BudgetedUsage, before: BudgetedUsage = NOTHING): BudgetedUsage => ({
  toolCalls: used.toolCalls - before.toolCalls,
  tokens: used.tokens - before.tokens,
  cost: used.cost - before.cost,
});

/** What was used for each task, in its session and below it, and what the living process has heard of tools. */
export const createUsageCounts = (tracks: TaskObservations, limits: Limits) => {
  const used = new Map<string, BudgetedUsage>();
  const equal = new Map<string, { input: string; calls: Set<string> }>();
  const running = new Map<string, Set<string>>();
  const loops = new Set<string>();
  let calls = 0;

  const noteRunning = ({ sessionID, callID, stage }: Extract<HostEvent, { type: "toolCall" }>) => {
    const open = running.get(sessionID) ?? new Set<string>();
    running.set(sessionID, open);
    if (stage === "begun") open.add(callID);
    else open.delete(callID);
  };

  const noteEqual = (run: string, { callID, input = "" }: Extract<HostEvent, { type: "toolCall" }>) => {
    const known = equal.get(run);
    const same = known?.input === input ? known.calls.add(callID) : new Set([callID]);
    equal.set(run, { input, calls: same });
    if (same.size >= limits.repeat) loops.add(run);
  };

  return {
    /** Counts what was used in a session. Beyond a limit the run of its task may end, and those of the tasks above it. */
    add: (sessionID: string, more: Partial<BudgetedUsage>) => {
      calls += more.toolCalls ?? 0;
      for (let id: string | undefined = sessionID; id !== undefined; id = tracks.of(id)?.parentTaskId) {
        const now = sum(used.get(id) ?? NOTHING, more);
        used.set(id, now);
        if (isBeyond(now, limits) || now.toolCalls >= limits.repeat) tracks.mayEnd(id);
      }
    },
    /** Everything that was ever used in the session of a task and below it: the process may have heard of less. */
    usedFor: (taskId: string) => used.get(taskId) ?? NOTHING,
    /** The number of all tool calls. */
    calls: () => calls,
    /** Records an event that the living process takes. `supervises` says whether some process looks after the task. */
    heard: (event: HostEvent, supervises: (taskId: string) => boolean) => {
      const { sessionID } = event;
      if (event.type === "idle") running.delete(sessionID);
      if (event.type !== "toolCall" || event.input === undefined) return;
      const task = tracks.of(sessionID);
      if (!task || hasEnded(task) || !supervises(sessionID)) return;
      noteRunning(event);
      noteEqual(`${sessionID}/${task.resumeCount}`, event);
    },
    /** A new process knows nothing of earlier calls. */
    forgetCalls: () => {
      equal.clear();
      loops.clear();
      running.clear();
    },
    /** The runs, as `task/run`, in which the living process has heard of too many equal calls in a row. */
    loops: () => loops,
    /** True while a tool runs in the session, as far as the living process has heard. */
    isToolRunning: (sessionID: string) => (running.get(sessionID)?.size ?? 0) > 0,
  };
};

export type UsageCounts = ReturnType<typeof createUsageCounts>;
