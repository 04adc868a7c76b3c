import fc from "fast-check";
import type { CallFault } from "./calls.ts";
import { answered, launched, MOMENT, NEWEST, pass, SECOND_NEWEST, summedUp, WHILE } from "./scene-words.ts";
import type { Step } from "./steps.ts";

/** Milliseconds, longer than the shorter limits of a run's time. */
const LONGER_THAN_A_RUN = 30_000;

/** A task has a task of its own. */
const launchedWithOneBelow: Step[] = [launched(), pass(MOMENT), { do: "launchBelow", task: NEWEST }, pass(MOMENT)];

const dawdling = fc
  .record({ begins: fc.constantFrom("tool", "question", "nothing"), isSummedUp: fc.boolean() })
  .map(({ begins, isSummedUp }): Step[] => [
    launched(),
    pass(MOMENT),
    ...(isSummedUp ? [summedUp] : []),
    { do: "dawdle", task: NEWEST, begins },
  ]);

/** A task is silent for so long that it is stale, and shows a sign of life. */
const heardAgain = fc
  .constantFrom([30_000, 8_000], [700_000, 200_000])
  .map(([silent = 0, heard = 0]): Step[] => [
    launched(),
    pass(silent),
    { do: "spend", task: NEWEST, tokens: 10, cost: 0 },
    pass(heard),
  ]);

/** The machine sleeps while a task is at work: nothing could be heard of it meanwhile. */
const asleep = fc
  .constantFrom(MOMENT, WHILE)
  .map((ms): Step[] => [launched(), pass(MOMENT), { do: "pause", ms: 20_000 }, pass(ms)]);

/** A task that has ended counts for the one above it still: after a crash, and in its next run. */
const usedBelow = fc
  .record({ times: fc.constantFrom(1, 3), resumes: fc.boolean() })
  .map(({ times, resumes }): Step[] => [
    ...launchedWithOneBelow,
    { do: "callTools", task: NEWEST, times, same: false },
    answered(NEWEST),
    pass(WHILE),
    ...(resumes ? [answered(NEWEST), pass(WHILE), { do: "resume", task: SECOND_NEWEST } as const] : []),
    ...(resumes ? [] : [{ do: "crash", down: 0 } as const]),
    pass(WHILE),
    { do: "overspend", task: NEWEST },
  ]);

/** A task takes long, and a tool runs in the one below it. */
const busyBelow = fc
  .constantFrom(LONGER_THAN_A_RUN, 2 * LONGER_THAN_A_RUN)
  .map((ms): Step[] => [...launchedWithOneBelow, { do: "runTool", task: NEWEST, ms }, pass(LONGER_THAN_A_RUN)]);

/** The scenes about limits and about the time of runs. */
const scenesOfLimits: fc.Arbitrary<Step[]>[] = [dawdling, heardAgain, asleep, usedBelow, busyBelow];

/*
 * Steps that come about together so seldom that schedules would hardly ever have them, though a promise is about just
 * that. Whatever happens before and beside them is drawn as ever.
 */

/** A task is resumed or retried though its end is owed still, for others of its batch are at work. */
const goesOnWhileOwed = fc
  .tuple(fc.nat(2), fc.boolean())
  .map(([parent, isRetried]): Step[] => [
    launched({ parent, wake: "all" }),
    launched({ parent, wake: "all" }),
    pass(MOMENT),
    isRetried ? { do: "fail", session: SECOND_NEWEST } : answered(SECOND_NEWEST),
    pass(MOMENT),
    { do: isRetried ? "retry" : "resume", task: NEWEST },
    pass(MOMENT),
  ]);

/** What stops a task, by what stops it. */
const STOPS = {
  cancel: { do: "cancel", task: NEWEST },
  fail: { do: "fail", session: NEWEST },
  limit: { do: "circle", task: NEWEST },
} satisfies Record<string, Step>;
const stop = fc.constantFrom<Step>(...Object.values(STOPS));

/** A task fails, is cancelled or meets a limit, is retried, and is answered or stopped again; at any moment its process may die. */
const stoppedAndRetried = fc
  .record({ stopped: stop, again: fc.option(stop, { nil: undefined }), dies: fc.boolean() })
  .map(({ stopped, again, dies }): Step[] => {
    const retried: Step[] = [pass(WHILE), { do: "retry", task: NEWEST }, pass(MOMENT)];
    return [
      ...[launched(), pass(MOMENT), stopped, ...retried],
      ...(dies ? [{ do: "crash", down: 0 } as const, pass(WHILE)] : []),
      ...(again ? [again, ...retried] : []),
      ...[answered(NEWEST), pass(WHILE), { do: "resume", task: NEWEST } as const, pass(MOMENT)],
    ];
  });

/** What becomes of a turn, or of the session, without a word to the engine. */
const UNHEARD_ENDS = [
  answered(NEWEST),
  { do: "fail", session: NEWEST },
  { do: "hostFault", session: NEWEST },
  { do: "breakOff", session: NEWEST },
  { do: "steer", task: NEWEST },
  { do: "launchBelow", task: NEWEST },
] satisfies Step[];

const callOf = (call: "abort" | "messages" | "message") =>
  fc.record({
    do: fc.constant("strike" as const),
    call: fc.constant(call),
    is: fc.constantFrom("unavailable" as const, "unheard" as const, "missing" as const, "lateBack" as const),
    ms: fc.constantFrom(600, 3_000, 8_000),
    times: fc.integer({ min: 1, max: 12 }),
  });

/**
 * The end of a turn is not heard of, and then the task is paused, or the turn ends when it has been continued, before OpenCode has
 * said what became of it. The calls by which it is stopped, and OpenCode is asked, may fail.
 */
const pausedUnheard = fc
  .record({
    end: fc.constantFrom<Step>(...UNHEARD_ENDS),
    isLost: fc.boolean(),
    stopping: fc.option(callOf("abort"), { nil: undefined }),
    asking: fc.option(fc.oneof(callOf("messages"), callOf("message")), { nil: undefined }),
    whenContinued: fc.boolean(),
    dies: fc.boolean(),
  })
  .map(({ end, isLost, stopping, asking, whenContinued, dies }): Step[] => {
    const unheard: Step[] = [
      ...(isLost
        ? [{ do: "garble", faults: Array.from({ length: 6 }, () => ({ is: "lost" as const })) } as const]
        : []),
      end,
    ];
    const failing: Step[] = [stopping ?? [], asking ?? []].flat();
    return [
      ...[launched(), pass(MOMENT)],
      ...(whenContinued ? [] : [...unheard, ...failing]),
      ...[{ do: "pauseTask", task: NEWEST, by: "person" } as const, pass(whenContinued ? WHILE : 300)],
      ...(dies ? [{ do: "crash", down: 0 } as const] : []),
      ...[pass(WHILE), pass(WHILE)],
      ...(whenContinued ? failing : []),
      { do: "continueTask", task: NEWEST, by: "person" },
      ...(whenContinued ? [pass(60), ...unheard] : []),
      ...[pass(WHILE), answered(NEWEST), pass(WHILE)],
    ];
  });

/** A task is refused for long, whatever its model; it may be paused by a person meanwhile, and its process may die; it continues, and is answered. */
const refusedForLong = fc
  .record({
    meanwhile: fc.constantFrom<Step | undefined>(
      ...[undefined, { do: "pauseTask", task: NEWEST, by: "person" } as const, launched()],
      ...[{ do: "crash", down: 0 } as const, { do: "continueTask", task: NEWEST, by: "agent" } as const],
    ),
    dies: fc.boolean(),
  })
  .map(({ meanwhile, dies }): Step[] => [
    ...[launched(), pass(MOMENT)],
    // By its own model, and by the others that it may have.
    ...[1, 2, 3].flatMap((): Step[] => [{ do: "refuseForNow", session: NEWEST, ms: 650_000 }, pass(WHILE)]),
    ...(meanwhile ? [meanwhile, pass(WHILE)] : []),
    ...(dies ? [{ do: "crash", down: 0 } as const, pass(WHILE)] : []),
    ...[pass(700_000), { do: "continueTask", task: NEWEST, by: "person" } as const, pass(WHILE)],
    ...[answered(NEWEST), pass(WHILE)],
  ]);

/**
 * A task is paused, perhaps with one below it, or while its notice is on its way; its process may die; it goes on, and is
 * answered.
 */
const pausedForAWhile = fc
  .record({
    by: fc.constantFrom("agent" as const, "person" as const),
    hasOneBelow: fc.boolean(),
    before: fc.constantFrom<Step | undefined>(
      ...[undefined, undefined, answered(NEWEST)],
      ...[{ do: "steer", task: NEWEST } as const, { do: "ask", task: NEWEST, kind: "permission", lasts: 0 } as const],
    ),
    after: fc.constantFrom(0, 60, WHILE),
    meanwhile: fc.constantFrom<Step | undefined>(
      ...[undefined, undefined, { do: "crash", down: 0 } as const, { do: "close", aborts: true } as const],
      ...[{ do: "steer", task: NEWEST } as const, { do: "cancel", task: NEWEST } as const, pass(700_000)],
    ),
  })
  .map(({ by, hasOneBelow, before, after, meanwhile }): Step[] => {
    const [lead, which] = hasOneBelow ? [launchedWithOneBelow, SECOND_NEWEST] : [[launched(), pass(MOMENT)], NEWEST];
    return [
      ...lead,
      ...(before ? [before] : []),
      { do: "pauseTask", task: which, by },
      pass(after),
      ...(meanwhile ? [meanwhile] : []),
      pass(WHILE),
      { do: "continueTask", task: which, by },
      pass(WHILE),
      answered(NEWEST),
      pass(WHILE),
    ];
  });

const readCall = fc.record({
  timeout: fc.constantFrom(5_000, 30_000),
  answer: fc.constantFrom("stored", "stored", "lost"),
  storedAfter: fc.constantFrom(0, 0, MOMENT, 3_000, 3_000),
});

/**
 * Several calls wait for the end of one task, and the host stores or loses their answers one after the other; between two of
 * them the task may be resumed.
 */
const severalCalls = fc
  .record({
    calls: fc.array(readCall, { minLength: 2, maxLength: 3 }),
    resumesAfter: fc.constantFrom(undefined, 0, MOMENT, 2 * MOMENT),
  })
  .map(({ calls, resumesAfter }): Step[] => [
    launched(),
    pass(MOMENT),
    ...calls.map((call): Step => ({ do: "read", task: NEWEST, whole: "task", ...call })),
    answered(NEWEST),
    ...(resumesAfter === undefined
      ? []
      : [pass(resumesAfter), { do: "resume", task: NEWEST } as const, pass(MOMENT), answered(NEWEST)]),
    pass(WHILE),
  ]);

/** The turn that waits for a task is aborted; the task answers before it is stopped, or OpenCode ends. */
const abandoned = fc
  .record({
    after: fc.constantFrom(0, 60, 600),
    meanwhile: fc.constantFrom<Step | undefined>(
      ...[undefined, undefined, undefined, answered(NEWEST)],
      ...[{ do: "crash", down: 0 } as const, { do: "close", aborts: true } as const],
    ),
    endsToo: fc.constantFrom(false, false, true),
  })
  .map(({ after, meanwhile, endsToo }): Step[] => [
    launched({ parent: 2, waits: true }),
    pass(MOMENT),
    { do: "read", task: NEWEST, whole: "task", timeout: 30_000, answer: "stored", storedAfter: 0 },
    { do: "abort", session: NEWEST },
    pass(after),
    ...(meanwhile ? [meanwhile] : []),
    ...(endsToo ? [{ do: "crash", down: 0 } as const] : []),
    pass(WHILE),
    answered(NEWEST),
    pass(WHILE),
  ]);

/** A child answers while an instruction for it is on its way. */
const steeredLate = fc
  .record({
    is: fc.constantFrom<CallFault["is"]>("unavailable", "unheard", "lateThere", "lateBack"),
    ms: fc.constantFrom(600, 3_000),
    times: fc.integer({ min: 1, max: 2 }),
  })
  .map((fault): Step[] => [
    launched(),
    pass(MOMENT),
    { do: "strike", call: "storeMessage", ...fault },
    { do: "steer", task: NEWEST },
    answered(NEWEST),
    pass(WHILE),
  ]);

/** An instruction is on its way while its task is cancelled, and fails once that is at rest. */
const cancelledWhileSteered = fc
  .constantFrom(3_000, 8_000)
  .map((ms): Step[] => [
    launched(),
    pass(MOMENT),
    { do: "strike", call: "message", is: "lateBack", ms, times: 1 },
    { do: "strike", call: "storeMessage", is: "throws", ms: 0, times: 1 },
    { do: "steer", task: NEWEST },
    { do: "cancel", task: NEWEST },
    pass(ms + MOMENT),
  ]);

/** A process dies while it carries out what a person asked by the status API. */
const diesOverCommand = fc
  .integer({ min: 1, max: 12 })
  .map((points): Step[] => [
    launched(),
    pass(MOMENT),
    { do: "askByApi", task: NEWEST, kind: "steer" },
    { do: "dieSoon", points },
    pass(1_200),
    pass(WHILE),
  ]);

/** A task fails, and before its own task has stopped, a person goes on in its session. */
const comeBackAtOnce = fc
  .record({
    is: fc.constantFrom<CallFault["is"]>("unavailable", "lateThere"),
    ms: fc.constantFrom(600, 3_000),
    times: fc.integer({ min: 1, max: 3 }),
  })
  .map((fault): Step[] => [
    launched(),
    pass(MOMENT),
    { do: "launchBelow", task: NEWEST },
    pass(MOMENT),
    { do: "strike", call: "abort", ...fault },
    { do: "fail", session: SECOND_NEWEST },
    { do: "comeBack", task: NEWEST },
    pass(WHILE),
    answered(NEWEST),
    pass(WHILE),
  ]);

/** A child answers unheard, and before the engine asks for that its conversation is summed up. */
const summedUpAfterAnswer = fc
  .constantFrom(0, MOMENT)
  .map((ms): Step[] => [
    launched(),
    pass(MOMENT),
    { do: "garble", faults: [{ is: "lost" }, { is: "lost" }, { is: "lost" }] },
    answered(NEWEST),
    pass(ms),
    summedUp,
    pass(WHILE),
  ]);

/** A task asks something, and people answer it. */
const asked = fc
  .record({
    kind: fc.constantFrom("permission" as const, "question" as const),
    answer: fc.constantFrom("grant" as const, "grant" as const, "reject" as const, "unfit" as const),
    times: fc.constantFrom(1, 2),
    alsoInOpenCode: fc.boolean(),
  })
  .map(({ kind, ...how }): Step[] => [
    launched(),
    pass(MOMENT),
    { do: "ask", task: NEWEST, kind, lasts: 0 },
    { do: "answerByApi", task: NEWEST, ...how },
    pass(WHILE),
  ]);

/** A task asks something, and nobody answers for long. */
const leftUnanswered = fc
  .constantFrom("permission" as const, "question" as const)
  .map((kind): Step[] => [
    launched(),
    pass(MOMENT),
    { do: "ask", task: NEWEST, kind, lasts: 0 },
    pass(WHILE),
    pass(WHILE),
  ]);

/** The host goes on after an error, and a while later the turn ends without an answer: that error is not its cause. */
const brokenOffAfterError = fc
  .constantFrom(MOMENT, WHILE)
  .map((ms): Step[] => [
    launched(),
    pass(MOMENT),
    { do: "goOnAfterError", session: NEWEST, idle: false },
    pass(ms),
    { do: "breakOff", session: NEWEST },
    pass(WHILE),
  ]);

/** The same where the child has answered meanwhile, and goes on since its answer did not pass the gate. */
const brokenOffAfterGate = fc
  .constantFrom(MOMENT, WHILE)
  .map((ms): Step[] => [
    launched(),
    pass(MOMENT),
    { do: "goOnAfterError", session: NEWEST, idle: false },
    pass(ms),
    answered(NEWEST),
    pass(WHILE),
    { do: "breakOff", session: NEWEST },
    pass(WHILE),
  ]);

/**
 * A process takes a run over and cannot read what it did before; it dies as well, when the run has ended and while it reads
 * that once more.
 */
const receiptLeftIncomplete = fc
  .record({
    ends: fc.constantFrom<Step>(answered(NEWEST), { do: "cancel", task: NEWEST }),
    after: fc.constantFrom(MOMENT, 3_000),
  })
  .map(({ ends, after }): Step[] => [
    launched(),
    pass(MOMENT),
    { do: "strike", call: "runEvents", is: "unavailable", ms: 0, times: 1 },
    { do: "strike", call: "runEvents", is: "lateBack", ms: 8_000, times: 1 },
    { do: "crash", down: 0 },
    pass(MOMENT),
    ends,
    pass(after),
    { do: "crash", down: 0 },
    pass(WHILE),
  ]);

/** Draws a scene of the only process. */
export const scene: fc.Arbitrary<Step[]> = fc.oneof(
  // Only with one toolset is a task cancelled with the turn: elsewhere this is an abort like others.
  { weight: 2, arbitrary: abandoned },
  ...[
    goesOnWhileOwed,
    stoppedAndRetried,
    pausedForAWhile,
    refusedForLong,
    pausedUnheard,
    severalCalls,
    steeredLate,
    cancelledWhileSteered,
    diesOverCommand,
    comeBackAtOnce,
    asked,
    leftUnanswered,
  ],
  ...[summedUpAfterAnswer, brokenOffAfterError, brokenOffAfterGate, receiptLeftIncomplete, ...scenesOfLimits],
);
