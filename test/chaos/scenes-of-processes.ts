import fc from "fast-check";
import type { CallFault } from "./calls.ts";
import { encounterOfSeveral } from "./encounters.ts";
import { answered, launched, MOMENT, NEWEST, pass, WHILE } from "./scene-words.ts";
import type { Step } from "./steps.ts";

/** A process is stopped while it launches a task, or has a result to deliver; another one takes the task, and the first wakes. */
const stoppedAtWork = fc
  .record({
    call: fc.constantFrom<CallFault["call"]>("prompt", "prompt", "busy", "messages", "session"),
    is: fc.constantFrom<CallFault["is"]>("unavailable", "unavailable", "lateThere", "lateBack"),
    times: fc.integer({ min: 0, max: 3 }),
    goesOnAfter: fc.constantFrom(0, 60, MOMENT),
    answersBefore: fc.boolean(),
    answersMeanwhile: fc.boolean(),
    // A process that lives is waited for: only after the longer time its work is taken over.
    standsStillFor: fc.constantFrom(30_000, 400_000, 400_000),
  })
  .map(({ goesOnAfter, answersBefore, answersMeanwhile, standsStillFor, ...fault }): Step[] => [
    { do: "goTo", process: 0 },
    ...(answersBefore ? [launched(), pass(MOMENT)] : []),
    { do: "strike", ms: 3_000, ...fault },
    answersBefore ? answered(NEWEST) : launched(),
    pass(goesOnAfter),
    { do: "freeze" },
    { do: "goTo", process: 1 },
    pass(standsStillFor),
    ...(answersMeanwhile ? [answered(NEWEST), pass(MOMENT)] : []),
    { do: "goTo", process: 0 },
    { do: "wake" },
    pass(WHILE),
  ]);

/** A task is cleared in another process, and the one that supervises it goes on with it before it has noticed. */
const clearedElsewhere = fc
  .record({ refusals: fc.nat(2), answers: fc.boolean(), goesOnFor: fc.constantFrom(MOMENT, 1_200, 2_100) })
  .map(({ refusals, answers, goesOnFor }): Step[] => [
    { do: "goTo", process: 0 },
    ...(refusals > 0 ? [{ do: "strike", call: "prompt", is: "unavailable", ms: 0, times: refusals } as const] : []),
    launched(),
    pass(MOMENT),
    { do: "goTo", process: 1 },
    { do: "clear", task: NEWEST },
    { do: "goTo", process: 0 },
    ...(answers ? [answered(NEWEST)] : []),
    pass(goesOnFor),
  ]);

/** Draws a scene of several processes. */
export const sceneOfSeveral: fc.Arbitrary<Step[]> = fc.oneof(stoppedAtWork, clearedElsewhere, {
  weight: 2,
  arbitrary: encounterOfSeveral,
});
