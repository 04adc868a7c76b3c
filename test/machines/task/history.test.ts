import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assign, initialTransition, transition } from "xstate";
import { statePath } from "../../../src/machines/chart.ts";
import type { Recovery, TaskEffect, TaskEvent, TaskInput } from "../../../src/machines/task/events.ts";
import {
  isAtRest,
  refusalReason,
  statusOf,
  type TaskSnapshot,
  taskMachine,
} from "../../../src/machines/task/machine.ts";
import { slotOf } from "../../../src/machines/task/slot.ts";
import { fleetInput, gatedInput, input, possibleIn, typedInput } from "../../model/task-events.ts";
import { createTaskHistory, effectsOf } from "../../model/task-history.ts";
import { pureRuns } from "../../seed.ts";

type Machine = typeof taskMachine;
/** The number of a check that nobody waits for. */
const LATE = -1;

/** A claim in a log that was lost. */
const OLD = { epoch: 0, seq: 1 };

const SAID_NOTHING = { result: undefined, error: undefined, receipt: undefined };

/** Events that a task takes only at certain times; they come at all times here. */
const ANY_TIME: TaskEvent[] = [
  { type: "CHECKED_BUSY", at: 0, checkId: LATE },
  { type: "CHECK_FAILED", at: 0, checkId: LATE, error: { name: "E", kind: "host", message: "late" } },
  { type: "CHECKED_ANSWERED", at: 0, checkId: LATE, completedAt: 0, result: "late" },
  { type: "RESUME", at: 0, messageID: "msg_3", partID: "prt_3", prompt: "more" },
  {
    ...{ type: "RETRY", at: 0, messageID: "msg_4", partID: "prt_4", prompt: "Go on." },
    budgetFrom: { toolCalls: 0, tokens: 0, cost: 0 },
  },
  { type: "NEXT_RUN_ASKED", begins: "RESUME", at: 0, messageID: "msg_5", partID: "prt_5", prompt: "more" },
  { type: "NEXT_RUN_ASKED", begins: "RETRY", at: 0, messageID: "msg_6", partID: "prt_6", prompt: "Go on." },
  { type: "WAIT_ABANDONED", at: 0, call: "call_9" },
  { type: "WAIT_DELIVERED", at: 0, call: "call_9" },
  { type: "NOTICE_ACKNOWLEDGED", at: 0 },
  { type: "NOTICE_COMPOSED", at: 0 },
  { type: "REQUEST_ASKED", at: 0, request: { id: "per_9", kind: "permission", what: "ls", since: 0 } },
  { type: "BECAME_STALE", at: 0 },
  { type: "HOST_IDLE", at: 0 },
  { type: "HOST_ERROR", at: 0, error: { name: "E", message: "one more" } },
  { type: "STEER", at: 0, messageID: "msg_8", partID: "prt_8", prompt: "Faster.", text: "Faster.", from: "agent" },
  { type: "INSTRUCTION_SEEN", at: 0, messageID: "msg_8" },
  { type: "JOB_ENQUEUED", at: 0 },
  { type: "REMOTE_LOST", at: 0 },
  { type: "CLOSED", at: 0 },
  { type: "REMOTE_CLAIMED", at: 0, claim: OLD, server: { id: "srv_9", label: "nine" } },
  { type: "REMOTE_ENDED", at: 0, claim: OLD, outcome: "completed", completedAt: 0, ...SAID_NOTHING },
];

/** What ends a run, or holds it up, comes less often: else every history would be short. */
const ENDS: ReadonlySet<string> = new Set<TaskEvent["type"]>([
  "SESSION_DELETED",
  "SUPERVISION_FAILED",
  "CANCEL",
  "PAUSE",
  "STOPPED",
  "CHECKED_FAILED",
  "LIMIT_EXCEEDED",
  "NOTICE_DROPPED",
  "REMOTE_ENDED",
]);

/** Events of which a task that has ended takes note. */
const AFTER_THE_END = /^(RESUME|RETRY|NEXT_RUN_ASKED|RESULT_READ|ADOPTED|WAIT_|NOTICE_)/;

/** Leads a run from its launch to its answer, and its answer to the parent. */
const TO_THE_END: TaskEvent["type"][] = [
  "SLOT_GRANTED",
  "PROMPT_ACCEPTED",
  "HOST_IDLE",
  "CHECKED_ANSWERED",
  "NOTICE_COMPOSED",
  "NOTICE_ACKNOWLEDGED",
];

/** The same of a run on another server. */
const THERE_TO_THE_END: TaskEvent["type"][] = [
  "JOB_ENQUEUED",
  "REMOTE_CLAIMED",
  "REMOTE_ENDED",
  "NOTICE_COMPOSED",
  "NOTICE_ACKNOWLEDGED",
];

/** What comes again and again in a history, where it can: else nothing would happen as often as it may. */
const RECURRING: TaskEvent["type"][][] = [
  [],
  ["SLOT_GRANTED", "PROMPT_REFUSED", "TICK"],
  ["SLOT_GRANTED", "PROMPT_ACCEPTED", "HOST_IDLE", "CHECKED_UNANSWERED", "TICK"],
  ["SLOT_GRANTED", "PROMPT_ACCEPTED", "HOST_IDLE", "CHECK_FAILED", "TICK"],
  ["SLOT_GRANTED", "ADOPTED", "CHECKED_UNANSWERED", "CHECKED_ABORTED"],
  ["SLOT_GRANTED", "PROMPT_ACCEPTED", "HOST_IDLE", "CHECKED_HOST_FAULT", "TICK"],
  ["SLOT_GRANTED", "PROMPT_ACCEPTED", "HOST_ERROR", "HOST_IDLE", "CHECKED_BUSY"],
  ["SLOT_GRANTED", "PROMPT_ACCEPTED", "CANCEL", "NOT_STOPPED", "TICK", "STEER"],
  [...TO_THE_END, "RESUME"],
  [...TO_THE_END, "NEXT_RUN_ASKED", "RESUME"],
  ["SLOT_GRANTED", "CANCEL", "STOPPED", "NOTICE_COMPOSED", "NOTICE_ACKNOWLEDGED", "RETRY"],
  ["SLOT_GRANTED", "PROMPT_ACCEPTED", "PAUSE", "STOPPED", "CHECKED_ABORTED", "CONTINUE"],
  ["JOB_REFUSED", "TICK"],
  ["JOB_ENQUEUED", "REMOTE_CLAIMED", "REMOTE_LOST"],
  ["JOB_ENQUEUED", "REMOTE_CLAIMED", "REMOTE_LOST", "CANCEL", "TICK"],
  ["JOB_ENQUEUED", "TICK", "CLOSED", ...TO_THE_END, "RESUME"],
  [...THERE_TO_THE_END, "RESUME"],
  [...THERE_TO_THE_END, "RESUME", "REMOTE_LOST", "REMOTE_HELD"],
  ["JOB_ENQUEUED", "TICK", "CLOSED"],
];

/** What is drawn for a history: each number chooses one of the events that may come. */
const draws = fc.record({
  choices: fc.array(fc.nat(), { minLength: 1, maxLength: 120, size: "max" }),
  recurring: fc.tuple(fc.constantFrom(...RECURRING), fc.constantFrom(...RECURRING)).map((some) => new Set(some.flat())),
  recovery: fc.constantFrom<Recovery>("continue", "continue", "fail"),
  begin: fc.constantFrom(input, input, gatedInput, typedInput, fleetInput, fleetInput),
});
type Draws = typeof draws extends fc.Arbitrary<infer Drawn> ? Drawn : never;

/** Tells apart what would be the same words each time. */
const distinct = (event: TaskEvent, place: number): TaskEvent => {
  if (event.type === "CHECKED_ANSWERED") return { ...event, result: `answer ${place}` };
  if (!("error" in event && event.error)) return event;
  return { ...event, error: { ...event.error, message: `${event.error.message} (${place})` } } as TaskEvent;
};

const isLive = (snapshot: TaskSnapshot): boolean => ["running", "resumed"].includes(statusOf(snapshot));

/** The ends that somebody else has told: nothing is left to be stopped. */
const TOLD: ReadonlySet<string> = new Set<TaskEvent["type"]>(["CHECKED_FAILED", "PROMPT_REFUSED", "REMOTE_ENDED"]);

/** What is promised of each step of the chart itself. Throws where a step breaks it. */
const checkStep = (
  before: TaskSnapshot,
  event: TaskEvent,
  after: TaskSnapshot,
  effects: readonly TaskEffect[],
): void => {
  const { nextDeadline, completedAt } = after.context;
  const types = effects.map(({ type }) => type);
  const demand = (isTrue: boolean, what: string): void => {
    if (!isTrue) throw new Error(`${event.type}: ${what}`);
  };
  const reason = refusalReason(before, event);
  if (reason !== undefined)
    demand(
      reason !== "" && after === before && effects.length === 0,
      "a refused event has a consequence, or no reason",
    );
  demand(
    nextDeadline === undefined || after.can({ type: "TICK", at: nextDeadline }),
    "the tick that is due is refused",
  );
  demand((completedAt === undefined) === isLive(after), "a task has ended exactly when it has a time of its end");
  if (!isLive(before) || isLive(after)) {
    if (isLive(after) && after.value.steering === "waiting" && statePath(after.value.run) === "active.working.busy")
      demand(nextDeadline !== undefined, "an instruction waits for nothing");
    return;
  }
  const { limitError, instructions } = before.context;
  if (statusOf(after) === "completed") demand(instructions === undefined, "a run ends with an instruction on its way");
  if (limitError) demand(isDeepStrictEqual(after.context.error, limitError), "a run beyond a limit has another error");
  const isGivenUp = statusOf(after) === "error" && !before.hasTag("stopping") && !TOLD.has(event.type);
  // An answer that is refused, and a gate that fails, end a run whose agent is idle.
  if (isGivenUp && event.type !== "CHECKED_ANSWERED" && event.type !== "GATE_ENDED" && event.type !== "CLOSED")
    demand(
      types.includes(before.matches({ run: "fleet" }) ? "closeRun" : "stopSession"),
      `a run that is given up is not stopped in ${JSON.stringify(before.value)}`,
    );
};

/** A task that is watched from outside. */
const watched = (machine: Machine, given: TaskInput) => {
  let [snapshot, actions] = initialTransition(machine, given);
  const history = createTaskHistory(given.run, effectsOf(actions), given.facts);
  const events: TaskEvent[] = [];
  return {
    get snapshot() {
      return snapshot;
    },
    isOpenCheck: history.isOpenCheck,
    /** Gives the task an event, and returns what it wants done. Throws when the history is not one that is promised. */
    take: (event: TaskEvent): TaskEffect[] => {
      const before: TaskSnapshot = snapshot;
      events.push(event);
      [snapshot, actions] = transition(machine, before, event);
      const effects = effectsOf(actions);
      try {
        history.take({ event, effects, status: statusOf(snapshot), slot: slotOf(snapshot) });
        checkStep(before, event, snapshot, effects);
        const isLate = "checkId" in event && event.checkId === LATE;
        const isForNextRun = event.type === "CANCEL" && before.value.nextRun === "waiting";
        const isOver = before.context.completedAt !== undefined && !AFTER_THE_END.test(event.type) && !isForNextRun;
        if (
          (isLate || isOver) &&
          !isDeepStrictEqual([snapshot.value, snapshot.context], [before.value, before.context])
        )
          throw new Error(`${event.type} says nothing any more`);
      } catch (error) {
        const story = events.map(({ type }) => type).join(" ");
        throw new Error(`${(error as Error).message}\nin ${JSON.stringify(before.value)} after ${story}`);
      }
      return effects;
    },
  };
};
type Watched = ReturnType<typeof watched>;

/** Returns the event that comes next; undefined where none is chosen. */
const nextEvent = (task: Watched, { recurring, recovery }: Draws, choice: number, place: number) => {
  const { snapshot } = task;
  const fitting = possibleIn(snapshot, recovery).filter(
    (event) => !("checkId" in event) || task.isOpenCheck(event.checkId),
  );
  const usual = choice % 5 === 0 ? [] : fitting.filter(({ type }) => recurring.has(type));
  const first = choice % Math.max(1, usual.length);
  // In turn, as to ask the chart takes time.
  const recurs = [...usual.slice(first), ...usual.slice(0, first)].find((event) => snapshot.can(event));
  const possible = choice % 7 === 0 ? ANY_TIME : fitting;
  const drawn = possible[choice % possible.length];
  const rare = drawn && ENDS.has(drawn.type) && place % 8 !== 0 ? undefined : drawn;
  const chosen = recurs ?? rare;
  return chosen && distinct(chosen, place);
};

const walk = (machine: Machine, drawn: Draws): void => {
  const task = watched(machine, drawn.begin);
  for (const [place, choice] of drawn.choices.entries()) {
    const event = nextEvent(task, drawn, choice, place);
    if (event) task.take(event);
  }
};

const problemOf = (machine: Machine, numRuns: number): string => {
  const { failed, errorInstance } = fc.check(
    fc.property(draws, (drawn) => walk(machine, drawn)),
    { numRuns, endOnFailure: true },
  );
  return failed ? (errorInstance as Error).message : "";
};

/** They only compute: a few seconds, and much more where the machine has much else to do. */
const LIMIT = { timeout: 60_000 };

test("whatever happens to a task, its history is one that is promised", LIMIT, () => {
  expect(problemOf(taskMachine, pureRuns(150))).toBe("");
});

/** What leads any run to its answer, and its answer to the parent. */
const ONWARDS =
  /^(RESUME|RETRY|SLOT_GRANTED|PROMPT_ACCEPTED|HOST_IDLE|CHECKED_ANSWERED|GATE_ENDED|JOB_REFUSED|CLOSED|CALL_RETURNED|STEERING_STORED|TICK|WAIT_DELIVERED|NOTICE_COMPOSED|NOTICE_ACKNOWLEDGED)$/;

const GOES_ON = /^(RESUME|RETRY|NEXT_RUN_ASKED)$/;

/** What a task still knows of earlier runs when it is resumed, and nothing else. */
const KEPT_BY_A_RESUME = {
  checkId: "goes on counting",
  result: "until the next answer",
  resultRetrievedAt: "until the next answer",
  lastRunResult: "until the next end",
  recovery: "as the process that took it over was told",
};

/** The effects of a run as they would be if its checks were counted from 1. */
const counted = (effects: TaskEffect[], offset: number): TaskEffect[] =>
  effects.map((effect) => (effect.type === "checkRun" ? { ...effect, checkId: effect.checkId - offset } : effect));

test("a task that is resumed goes on as if it were launched with that prompt, whatever happened before", LIMIT, () => {
  const property = fc.property(draws, draws, (before, after) => {
    const { begin } = before;
    const resumed = watched(taskMachine, begin);
    for (const [place, choice] of before.choices.slice(0, 30).entries()) {
      const event = nextEvent(resumed, before, choice, place);
      if (event && !ENDS.has(event.type)) resumed.take(event);
    }
    for (let tries = 0; tries < 40 && !isAtRest(resumed.snapshot); tries += 1) {
      const possible = possibleIn(resumed.snapshot, "continue").filter(({ type }) => ONWARDS.test(type));
      // Time passes where nothing else leads on.
      const next = possible
        .sort((one, other) => Number(one.type === "TICK") - Number(other.type === "TICK"))
        .find((event) => resumed.snapshot.can(event));
      if (next) resumed.take(next);
    }
    fc.pre(statusOf(resumed.snapshot) === "completed" && isAtRest(resumed.snapshot));
    const at = begin.run.startedAt;
    const run = { messageID: "msg_9", partID: "prt_9", prompt: "And now?" };
    const offset = resumed.snapshot.context.checkId;
    const { index, budgetFrom } = resumed.snapshot.context.run;
    const begun = resumed.take({ type: "RESUME", at, ...run });
    // After a retry, its budget counts on.
    const kept = budgetFrom ? { budgetFrom } : {};
    const asLaunched = { ...begin, run: { index: index + 1, startedAt: at, ...run, ...kept } };
    const [, actions] = initialTransition(taskMachine, asLaunched);
    expect(counted(begun, offset)).toEqual(effectsOf(actions));
    const launched = watched(taskMachine, asLaunched);
    const known = { ...resumed.snapshot.context, ...KEPT_BY_A_RESUME };
    expect(known).toEqual({ ...launched.snapshot.context, ...KEPT_BY_A_RESUME });
    for (const [place, choice] of after.choices.slice(0, 40).entries()) {
      const event = nextEvent(launched, after, choice, place);
      if (!event || GOES_ON.test(event.type)) continue;
      const isCheck = "checkId" in event && event.checkId !== LATE;
      const effects = resumed.take(isCheck ? { ...event, checkId: event.checkId + offset } : event);
      expect(counted(effects, offset), event.type).toEqual(launched.take(event));
    }
  });
  fc.assert(property, { numRuns: pureRuns(20) });
});

type Implementations = Parameters<Machine["provide"]>[0];

const never = () => false;
const always = () => true;

/** Mistakes that the chart could have. Only an expectation that does not come from the chart sees them. */
const MISTAKES: Record<string, Implementations> = {
  "a check more than promised may go unanswered": {
    guards: { failedChecksLeft: ({ context }) => context.failedChecks < 12 },
  },
  "a check less than promised may go unanswered": {
    guards: { failedChecksLeft: ({ context }) => context.failedChecks + 2 < 12 },
  },
  "a prompt is sent once too often": { guards: { sendAttemptsLeft: ({ context }) => context.sendAttempts <= 7 } },
  "a prompt is given up once too early": { guards: { sendAttemptsLeft: ({ context }) => context.sendAttempts < 6 } },
  "a session is asked to stop once too often": {
    guards: { stopAttemptsLeft: ({ context }) => context.stopAttempts <= 10 },
  },
  "a session that does not stop is given up once too early": {
    guards: { stopAttemptsLeft: ({ context }) => context.stopAttempts < 9 },
  },
  "an interrupted run is continued without end": {
    guards: { mayContinue: ({ context }) => context.recovery === "continue" },
  },
  "a run is continued after faults of the host without end": { guards: { mayBeInterrupted: always } },
  "an interrupted run is continued whatever the option says": {
    guards: { mayContinue: ({ context }) => context.interruptions < 2 },
  },
  "a late answer to a check counts": { guards: { isCurrentCheck: always } },
  "an ended task still takes what concerns a live one": { guards: { live: always } },
  "any call that lets go counts as one that waited": { guards: { isWaiter: always } },
  "one of several calls lets go, and the notice is due": { guards: { isOnlyWaiter: always } },
  "the last call lets go, and no notice is due": { guards: { isOnlyWaiter: never } },
  "an end is owed by a notice though a call waits for it": { guards: { waitedFor: never } },
  "a lost notice is not owed again": { guards: { noNoticePending: never } },
  "a notice that was taken over is owed again": { guards: { noNoticePending: always } },
  "the last error is named, not the first": {
    actions: {
      recordIdleHint: assign({
        idleHinted: true,
        hostError: ({ context, event }) => (event.type === "HOST_ERROR" ? event.error : context.hostError),
      }),
    },
  },
  "an answer that does not pass the gate counts": { guards: { hasPassed: always } },
  "the gate is tried again without end": { guards: { mayTryGateAgain: always } },
  "an answer that does not fit the schema counts": { guards: { isMisfit: never } },
  "an answer that does not fit is given back without end": { guards: { mayRepair: always } },
  "an answer that does not fit is never given back": { guards: { mayRepair: never } },
  "a run that is for other servers is worked on here": { guards: { isForFleet: never } },
  "a job is sent again though the broker refuses it for good": { guards: { mayEnqueueAgain: always } },
  "a claim that is known counts once more": { guards: { isNewClaim: always } },
  "an end by an older claim counts": { guards: { isNewestClaim: always } },
  "an end of the run before counts for the resumed one": {
    guards: {
      isNewestClaim: ({ context: { remote }, event }) =>
        "claim" in event && isDeepStrictEqual(remote?.claim, event.claim),
    },
  },
  "an end by the newest claim does not count": { guards: { isNewestClaim: never } },
  "a failure on another server counts as an answer": { guards: { isRemotelyCompleted: always } },
  "a failure on another server counts as a cancellation": { guards: { isRemotelyFailed: never } },
  "a run is begun by other servers without end": { guards: { mayBeginAgain: always } },
  "a run is begun by other servers less often than it may be": {
    guards: {
      mayBeginAgain: ({ context: { facts, remote } }) =>
        (remote?.attempts.length ?? 0) + 1 < (facts.fleet?.attempts ?? 0),
    },
  },
  "a run that no server has begun is beyond a limit": { guards: { wasSent: always } },
  "a run that is recalled at a limit counts as cancelled": { guards: { isBeyondLimit: never } },
  "a run that is being stopped is stopped once more": { guards: { notStopping: always } },
  "the receipt of another server is written anew": { guards: { hasReceipt: never } },
  "a run that ended on another server is resumed here": {
    guards: { isForFleet: ({ context: { run } }) => run.index === 0 },
  },
  "a resume that its server does not take up is worked on here": { guards: { isLaunch: always } },
  "a launch that no server takes up ends in an error": { guards: { isLaunch: never } },
  "an end is not recorded": { actions: { recordEnd: assign({ nextDeadline: undefined }) } },
};

// What is shown here is the test's own doing: once is enough.
describe.skipIf(process.versions.bun)("a chart with a mistake has a history that is not promised", () => {
  test.each(Object.entries(MISTAKES))("%s", LIMIT, (_, implementations) => {
    expect(problemOf(taskMachine.provide(implementations), 2_000)).not.toBe("");
  });
});
