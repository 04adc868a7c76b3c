import { initialTransition } from "xstate";
import type { RunResult, TaskEvent } from "../../machines/task/events.ts";
import { type TaskSnapshot, taskMachine } from "../../machines/task/machine.ts";
import { type Journal, transitionsOf } from "../../machines/task/replay.ts";
import { slotOf } from "../../machines/task/slot.ts";
import type { TaskFacts } from "../../task.ts";

/** A stretch of time in which a run held a slot, or needed none because it waited for a person or for tasks of its own. */
export interface Stretch {
  /** Epoch milliseconds. */
  from: number;
  to: number;
  holdsSlot: boolean;
}

/** A run as its journal has it. */
export interface RecordedRun {
  facts: TaskFacts;
  /** 0 is the launch, n is resume n. */
  index: number;
  /** When it first asked for a slot, epoch milliseconds. */
  wantedAt: number;
  /** From its first slot to its end, without what it waited for another model's slot. Empty for a run that ended in the queue. */
  stretches: Stretch[];
  /** Undefined for a run that is still under way: then the stretches reach up to its newest event. */
  outcome: RunResult["outcome"] | undefined;
}

/** A silence of a child that was noticed. */
export interface RecordedSilence {
  facts: TaskFacts;
  /** When it was noticed, epoch milliseconds: by then it had lasted for as long as the option said. */
  noticedAt: number;
  /** When the child was heard of again, or its run ended; undefined where the journal ends before. */
  endedAt: number | undefined;
  /** True when the child was at work all the time: it was heard of again, or its run completed. */
  wasAlive: boolean;
}

/** What a journal says of slots and silences. */
interface Recorded {
  runs: RecordedRun[];
  silences: RecordedSilence[];
}

const outcomeOf = (snapshot: TaskSnapshot): RecordedRun["outcome"] => snapshot.context.lastRunResult?.outcome;

/** Reads a journal by taking its chart through it; undefined where the journal does not start at the launch. */
export const recordedIn = ({ origin, events }: Journal): Recorded | undefined => {
  if (!origin) return undefined;
  const { facts } = origin;
  const [begin] = initialTransition(taskMachine, origin);
  const runs: RecordedRun[] = [];
  const silences: RecordedSilence[] = [];
  let run = beginRun(begin.context.run.index, begin.context.run.startedAt);
  let since = run.wantedAt;

  function beginRun(index: number, wantedAt: number): RecordedRun {
    const begun: RecordedRun = { facts, index, wantedAt, stretches: [], outcome: undefined };
    runs.push(begun);
    return begun;
  }

  const addStretch = (before: TaskSnapshot, to: number) => {
    const slot = slotOf(before);
    if (before.value.run === "idle" || slot === "waiting") return;
    const holdsSlot = slot === "held";
    const last = run.stretches.at(-1);
    if (last?.holdsSlot === holdsSlot && last.to === since) last.to = to;
    else run.stretches.push({ from: since, to, holdsSlot });
  };

  const noteSilence = (event: TaskEvent, before: TaskSnapshot, after: TaskSnapshot) => {
    if (after.value.attention === "stale" && before.value.attention !== "stale") {
      silences.push({ facts, noticedAt: event.at, endedAt: undefined, wasAlive: false });
    }
    const silence = silences.at(-1);
    if (!silence || before.value.attention !== "stale" || after.value.attention === "stale") return;
    silence.endedAt = event.at;
    silence.wasAlive =
      event.type === "ACTIVITY_SEEN" || event.type === "REQUEST_ASKED" || after.value.lifecycle === "completed";
  };

  for (const { event, before, after } of transitionsOf(origin, events)) {
    if (after === before) continue;
    addStretch(before, event.at);
    since = event.at;
    noteSilence(event, before, after);
    if (after.context.run.index !== before.context.run.index) run = beginRun(after.context.run.index, event.at);
    else if (after.value.run === "idle" && before.value.run !== "idle") run.outcome = outcomeOf(after);
  }
  return { runs, silences };
};
