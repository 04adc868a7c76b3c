import type { RecordedEvent, RecordedJournal } from "./exported-journal.ts";

/** Where a journal breaks a promise. */
export interface Breach {
  /** The number of the event in the journal, from 1; undefined where it is the snapshot that does not fit. */
  event: number | undefined;
  /** What is wrong there, in a sentence without its end. */
  what: string;
}

/** Something that is true of every journal. */
export interface JournalPromise {
  /** By which tests, documents and people call it. */
  name: string;
  /** What is promised, in a sentence. */
  says: string;
  breaches(account: Account): Breach[];
}

/** A breach at an event. */
export const at = ({ number }: JournalStep, what: string): Breach => ({ event: number, what });

/** A breach in the snapshot. */
export const inSnapshot = (what: string): Breach => ({ event: undefined, what });

/** An event and its number in the journal, from 1. */
export interface JournalStep {
  number: number;
  event: RecordedEvent;
  /** True where it says how the stop for a pause went, or what the run had come to: that waits until the run goes on. */
  isOfPause: boolean;
}

/** One run as its journal shows it. */
export interface JournalRun {
  /** 0 is the launch, n the n-th resume or retry. */
  index: number;
  /** The event that began it; undefined for the launch. */
  began: JournalStep | undefined;
  /** What happened from its beginning to the next one; first what cancelled it before it could begin. */
  steps: JournalStep[];
  /** True where the gate's command is to be run before it: the options ask for that, and its task's agent was sent nothing yet. */
  isGatedBefore: boolean;
  /**
   * The step by which its prompt is first sent here; undefined where none is. It is that which gives it a slot, unless the gate's
   * command is run before.
   */
  begin: JournalStep | undefined;
  /** The step that ended it; undefined while it is under way. */
  ending: JournalStep | undefined;
  /**
   * How it ended, as the snapshot or the next run says it; undefined while it is under way. Of a run that was retried it is only
   * known that it was not completed.
   */
  outcome: string | undefined;
  /** The limit beyond which it was, or the cancellation: from then on it was being stopped. */
  stopping: JournalStep | undefined;
}

/** How often OpenCode may end while the gate's command runs before the agent begins: with the last time the agent begins. */
const ENDS_BEFORE = 3;

const beginOf = (steps: readonly JournalStep[], isGatedBefore: boolean): JournalStep | undefined => {
  const granted = steps.findIndex(({ event }) => event.type === "SLOT_GRANTED");
  if (granted < 0 || !isGatedBefore) return steps[granted];
  let ends = 0;
  let isPaused = false;
  return steps.slice(granted + 1).find(({ event: { type } }) => {
    if (type === "PAUSE" || type === "SLOT_GRANTED") isPaused = type === "PAUSE";
    if (type === "ADOPTED" && !isPaused) ends += 1;
    return type === "GATE_ENDED_BEFORE" || ends === ENDS_BEFORE;
  });
};

/** A journal, read: what can be said of it without the chart. */
export interface Account {
  journal: RecordedJournal & { origin: NonNullable<RecordedJournal["origin"]> };
  steps: JournalStep[];
  runs: JournalRun[];
  newest: JournalRun;
}

/** What ends a run, whatever state it is in. */
const ENDS = new Set(["STOPPED", "SESSION_DELETED", "SUPERVISION_FAILED", "REMOTE_ENDED"]);

/** What happens only to a run that has ended. */
const AFTER_THE_END = new Set([
  "RECEIPT_WRITTEN",
  "RECEIPT_INCOMPLETE",
  "NOTICE_COMPOSED",
  "NOTICE_ACKNOWLEDGED",
  "NOTICE_DROPPED",
  "RESULT_READ",
  "RESUME",
  "RETRY",
  "NEXT_RUN_ASKED",
]);

/**
 * What may happen at any time. The prompt of a run that was stopped meanwhile may be accepted late, and what a child waited for
 * may end after it.
 */
const AT_ANY_TIME = new Set([
  "ADOPTED",
  "WAIT_BEGAN",
  "WAIT_ABANDONED",
  "WAIT_DELIVERED",
  "CALL_RETURNED",
  "OWN_TASK_ENDED",
  "PROMPT_ACCEPTED",
]);

/** True for what happens only to a run that is under way. */
export const isOfLiveRun = ({ event: { type } }: JournalStep): boolean =>
  !AFTER_THE_END.has(type) && !AT_ANY_TIME.has(type);

/** True for an answer that the agent gave, here or on another server, whether it counts or not. */
export const bringsAnswer = ({ type, outcome }: RecordedEvent): boolean =>
  type === "CHECKED_ANSWERED" || (type === "REMOTE_ENDED" && outcome === "completed");

/** What follows from the event that began the next run. */
const OUTCOME_BEFORE: Readonly<Record<string, string>> = { RESUME: "completed", RETRY: "stopped" };

/** True for an event that begins a run of a task that has ended. */
export const beginsRun = ({ type }: RecordedEvent): boolean => Object.hasOwn(OUTCOME_BEFORE, type);

const LIVE = new Set(["running", "resumed"]);

/** True for the status of a task whose newest run is under way. */
export const isLive = (status: string): boolean => LIVE.has(status);

const OF_PAUSE = /^(STOPPED|NOT_STOPPED|CHECK_FAILED|CHECKED_.+)$/;

/** What a session is stopped for, until another one of these comes. */
const STOPPED_FOR = /^(PAUSE|CONTINUE|CANCEL|LIMIT_EXCEEDED|RESUME|RETRY)$/;

const stepsOf = (events: readonly RecordedEvent[]): JournalStep[] => {
  let reason = "";
  return events.map((event, index) => {
    if (STOPPED_FOR.test(event.type)) reason = event.type;
    return { number: index + 1, event, isOfPause: reason === "PAUSE" && OF_PAUSE.test(event.type) };
  });
};

/** True for a step that ends a run, whatever state it is in. */
const isEnd = ({ event, isOfPause }: JournalStep): boolean => ENDS.has(event.type) && !isOfPause;

/** True for a cancellation of the next run, which was asked for before it: the run among whose steps it is has ended. */
const isOfNextRun = (step: JournalStep, steps: readonly JournalStep[]): boolean =>
  step.event.type === "CANCEL" &&
  steps.some(({ number, event }) => event.type === "NEXT_RUN_ASKED" && number < step.number);

/** The step that ended a run, of which `hasEnded` is known: what always does, or what came last before its first sign. */
const endingOf = (steps: readonly JournalStep[], hasEnded: boolean): JournalStep | undefined => {
  const sign = steps.findIndex(({ event }) => AFTER_THE_END.has(event.type));
  if (sign < 0 && !hasEnded) return steps.find(isEnd);
  const before = sign < 0 ? steps : steps.slice(0, sign);
  return before.find(isEnd) ?? before.findLast(isOfLiveRun);
};

/** Reads a journal that begins at its task's launch. */
export const readAccount = (journal: Account["journal"]): Account => {
  const steps = stepsOf(journal.events);
  const status = journal.snapshot.value.lifecycle;
  const begins = steps.filter(({ event }) => beginsRun(event));

  /** What is in the journal from the beginning of a run to that of the next one. */
  const stepsFrom = (place: number): JournalStep[] =>
    place < 0
      ? []
      : steps.slice(begins[place - 1]?.number ?? 0, (begins[place]?.number ?? Number.POSITIVE_INFINITY) - 1);

  const runOf = (place: number, isGatedBefore: boolean): JournalRun => {
    const [began, next] = [begins[place - 1], begins[place]];
    const [before, here] = [stepsFrom(place - 1), stepsFrom(place)];
    const own = [
      ...before.filter((step) => isOfNextRun(step, before)),
      ...here.filter((step) => !isOfNextRun(step, here)),
    ];
    const isOver = next !== undefined || !isLive(status);
    const stateOfNewest = isLive(status) ? undefined : status;
    return {
      index: journal.origin.run.index + place,
      began,
      steps: own,
      isGatedBefore,
      begin: beginOf(own, isGatedBefore),
      ending: endingOf(own, isOver),
      outcome: next ? OUTCOME_BEFORE[next.event.type] : stateOfNewest,
      stopping: own.find(({ event }) => event.type === "CANCEL" || event.type === "LIMIT_EXCEEDED"),
    };
  };

  let isGatedBefore = journal.origin.facts.gate?.before === true;
  const nextRunAt = (place: number): JournalRun => {
    const run = runOf(place, isGatedBefore);
    if (run.begin) isGatedBefore = false;
    return run;
  };
  const earlier = begins.map((_, place) => nextRunAt(place));
  const newest = nextRunAt(begins.length);
  return { journal, steps, runs: [...earlier, newest], newest };
};
