import type { HostEvent } from "../../machines/host-events.ts";
import { addUpWakes, noProgress, type Overlap, type Progress, type Usage, type WakeCosts } from "../../task.ts";
import { createRunTally, type RunTally } from "../receipts/run-tally.ts";
import type { CountedTask, Store, TaskBelow } from "../store/store.ts";
import { usageWith } from "../store/task-usage.ts";

interface Tally extends Omit<Progress, "lastUpdate"> {
  lastUpdateMs: number;
  /** Step parts that are counted already: the host reports each more than once. */
  steps: Set<string>;
  /** Tool calls that are counted already. */
  calls: Set<string>;
  run: RunTally;
}

/** Number of newest tool names that are kept. */
const LAST_TOOLS = 5;

/** Overlaps of a run that are kept: agents that share more files than this are not helped by a longer list. */
const MAX_OVERLAPS = 50;

const NOTHING: ReadonlyMap<string, Progress> = new Map();

/** Creates what counts what each child does, from the host's events alone. It is no part of a chart, for no decision depends on it. */
export const createProgressLog = () => {
  const tallies = new Map<string, Tally>();
  const changed = new Set<string>();

  const of = (sessionID: string): Progress | undefined => {
    const tally = tallies.get(sessionID);
    if (!tally) return undefined;
    const { toolCalls, toolCallsByName, lastTools, lastUpdateMs, tokens, cost, wakeCosts, overlaps } = tally;
    const lastUpdate = new Date(lastUpdateMs).toISOString();
    const counted = { toolCalls, toolCallsByName: { ...toolCallsByName }, lastTools, lastUpdate, tokens, cost };
    return { ...counted, ...(wakeCosts ? { wakeCosts } : {}), ...(overlaps ? { overlaps } : {}) };
  };

  return {
    /** Starts to count a run of a child at `at` (epoch milliseconds), on top of what was counted before. */
    begin: (sessionID: string, at: number, before: Progress = noProgress("")) => {
      const { lastUpdate: _, ...counts } = before;
      tallies.set(sessionID, {
        ...counts,
        toolCallsByName: { ...counts.toolCallsByName },
        lastUpdateMs: at,
        steps: new Set(),
        calls: new Set(),
        run: createRunTally(),
      });
    },
    /** Counts an event of the child itself, or of a descendant that has no task of its own: then `taskId` names the child. */
    onHostEvent: (event: HostEvent, at: number, taskId: string = event.sessionID) => {
      const tally = tallies.get(taskId);
      if (!tally) return;
      tally.lastUpdateMs = at;
      tally.run.onHostEvent(event, at);
      changed.add(taskId);
      const call = event.type === "toolCall" ? `${event.sessionID} ${event.callID}` : "";
      if (event.type === "toolCall" && !tally.calls.has(call)) {
        tally.calls.add(call);
        tally.toolCalls += 1;
        tally.toolCallsByName[event.tool] = (tally.toolCallsByName[event.tool] ?? 0) + 1;
        tally.lastTools = [...tally.lastTools, event.tool].slice(-LAST_TOOLS);
      }
      if (event.type === "step" && !tally.steps.has(event.partID)) {
        tally.steps.add(event.partID);
        tally.tokens += event.tokens;
        tally.cost += event.cost;
      }
    },
    /**
     * Records what another server has counted of a child by `at` (epoch milliseconds), in place of all that was counted before: it
     * says it all each time.
     */
    replace: (
      sessionID: string,
      { toolCalls, toolCallsByName, lastTools, tokens, cost }: Omit<Progress, "lastUpdate" | "overlaps" | "wakeCosts">,
      at: number,
    ) => {
      const tally = tallies.get(sessionID);
      if (!tally) return;
      Object.assign(tally, { toolCalls, toolCallsByName: { ...toolCallsByName }, lastTools, tokens, cost });
      tally.lastUpdateMs = at;
      changed.add(sessionID);
    },
    of,
    /** Adds what it cost to wake the agent that launched the child, where the child is counted. */
    addWakeCosts: (sessionID: string, costs: WakeCosts) => {
      const tally = tallies.get(sessionID);
      if (tally) tally.wakeCosts = addUpWakes([tally.wakeCosts, costs]);
    },
    /** What was observed of the child's run since `begin`. */
    runOf: (sessionID: string): RunTally | undefined => tallies.get(sessionID)?.run,
    /** What a child that is counted has used so far. */
    usageOf: (sessionID: string): Usage | undefined => {
      const tally = tallies.get(sessionID);
      return tally && { tokens: tally.tokens, cost: tally.cost };
    },
    /** Notes an overlap of the child's run. Returns false when it is known, or one too many. */
    addOverlap: (sessionID: string, overlap: Overlap): boolean => {
      const tally = tallies.get(sessionID);
      const { overlaps = [] } = tally ?? {};
      const isKnown = overlaps.some(
        ({ path, other }) => path === overlap.path && other.sessionID === overlap.other.sessionID,
      );
      if (!tally || isKnown || overlaps.length >= MAX_OVERLAPS) return false;
      tally.overlaps = [...overlaps, overlap];
      changed.add(sessionID);
      return true;
    },
    /** Returns the overlaps of the child's run that somebody was not notified of, and counts them as known to them. */
    takeUntold: (sessionID: string, who: Overlap["untold"][number]): Overlap[] => {
      const tally = tallies.get(sessionID);
      if (!tally?.overlaps) return [];
      const taken = tally.overlaps.filter(({ untold }) => untold.includes(who));
      if (taken.length === 0) return [];
      tally.overlaps = tally.overlaps.map((overlap) => ({
        ...overlap,
        untold: overlap.untold.filter((one) => one !== who),
      }));
      changed.add(sessionID);
      return taken;
    },
    /** Time of the child's last event, epoch milliseconds. */
    heardAt: (sessionID: string): number | undefined => tallies.get(sessionID)?.lastUpdateMs,
    /** Returns the progress of the children that did something since the last call. */
    takeChanged: (): ReadonlyMap<string, Progress> => {
      if (changed.size === 0) return NOTHING;
      const taken = new Map<string, Progress>();
      for (const sessionID of changed) {
        const progress = of(sessionID);
        // One that has changed may have been forgotten since.
        if (progress) taken.set(sessionID, progress);
      }
      changed.clear();
      return taken;
    },
    forget: (sessionID: string) => void tallies.delete(sessionID),
  };
};

export type ProgressLog = ReturnType<typeof createProgressLog>;

/** Creates what adds up what tasks used: as it is stored, and as it is counted now of those that work in this process. */
export const createUsageReader = (store: Pick<Store, "below">, progress: Pick<ProgressLog, "usageOf">) => {
  const ownUsageOf = ({ sessionID, ownUsage }: CountedTask): Usage => progress.usageOf(sessionID) ?? ownUsage;
  return {
    /**
     * Returns a function that returns what one of these tasks and its descendants used.
     * @param descendants all descendants of those; default: reads them
     */
    usageOf: (
      tasks: readonly CountedTask[],
      descendants: readonly TaskBelow[] = store.below(tasks.map(({ sessionID }) => sessionID)),
    ): ((task: CountedTask) => Usage) => usageWith(descendants, ownUsageOf),
  };
};
