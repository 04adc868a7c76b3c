import fc from "fast-check";
import { stepsOfFiles } from "./drawn-file-steps.ts";
import { stepsOfOne, stepsOfSeveral } from "./drawn-steps.ts";
import { happening } from "./encounters.ts";
import { MOMENT, pass, WHILE } from "./scene-words.ts";
import type { Schedule } from "./schedule.ts";
import type { Step } from "./steps.ts";
import { fromAll } from "./swarm.ts";

/** So long does a schedule grow at most. Those that are drawn have up to some 60 steps. */
const MOST_STEPS = 80;

const pauses: Step[][] = [0, 60, MOMENT, 3_000, WHILE].map((ms) => [pass(ms)]);

const isOfFiles = ({ store, processes = 1 }: Schedule): boolean => store === "file" && processes > 1;

/** Draws steps that fit a schedule. Files of several processes have steps of their own, and not all that others have. */
const insertedIn = (schedule: Schedule): fc.Arbitrary<Step[]> =>
  isOfFiles(schedule) ? fromAll(stepsOfFiles).map((step): Step[] => [step]) : insertedElsewhere(schedule);

const insertedElsewhere = ({ processes = 1 }: Schedule): fc.Arbitrary<Step[]> =>
  fc.oneof(
    { weight: 3, arbitrary: happening },
    { weight: 3, arbitrary: fc.constantFrom(...pauses) },
    {
      weight: 2,
      arbitrary: fromAll(processes > 1 ? stepsOfSeveral : stepsOfOne).map((step): Step[] => [step]),
    },
  );

/** Draws a schedule that differs from one in a few steps: put in, left out, moved, or followed by the end of another one. */
export const changed = (schedule: Schedule, another: Schedule): fc.Arbitrary<Schedule> => {
  const other = isOfFiles(schedule) === isOfFiles(another) ? another : schedule;
  const change = fc.record({
    how: fc.constantFrom("insert", "insert", "insert", "remove", "removeSome", "move", "followBy"),
    at: fc.nat(MOST_STEPS),
    to: fc.nat(MOST_STEPS),
    inserted: insertedIn(schedule),
  });
  return fc.array(change, { minLength: 1, maxLength: 4 }).map((changes) => {
    let { steps } = schedule;
    for (const { how, at: drawn, to, inserted } of changes) {
      const at = drawn % (steps.length + 1);
      if (how === "insert") steps = steps.toSpliced(at, 0, ...inserted);
      if (how === "remove") steps = steps.toSpliced(at, 1);
      if (how === "removeSome") steps = steps.toSpliced(at, 3);
      if (how === "move") steps = steps.toSpliced(at, 1).toSpliced(to % steps.length, 0, ...steps.slice(at, at + 1));
      if (how === "followBy") steps = [...steps.slice(0, at), ...other.steps.slice(to % (other.steps.length + 1))];
    }
    return { ...schedule, steps: steps.length === 0 ? schedule.steps : steps.slice(0, MOST_STEPS) };
  });
};
