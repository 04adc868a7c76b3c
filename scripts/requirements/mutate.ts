import type { Replacement } from "../../test/chaos/planted-mistakes.ts";
import { entries } from "../../test/specifications/lines/entries.ts";
import { isPlanted, nameOf, type PlantedEntry, testsOf } from "./line-tests.ts";
import { type Ended, type MistakeRunner, startMistakeRunner } from "./mistake-runner.ts";
import { findShowingTests, type ShowingTest } from "./showing-tests.ts";

/** Lines that the same mistake violates, in the same tests: one run decides about all of them. */
interface Trial {
  mistake: Replacement;
  lines: { entry: PlantedEntry; tests: ShowingTest[] }[];
}

const trialsOf = (chosen: readonly PlantedEntry[], tests: readonly ShowingTest[]): Trial[] => {
  const lines = chosen.map((entry) => ({ entry, tests: testsOf(entry, tests) }));
  for (const { entry, tests: its } of lines)
    if (its.length === 0) throw new Error(`${nameOf(entry)}: there is no test that it could be shown by.`);
  const keyOf = ({ mistake, shownBy, requirement, scenario }: PlantedEntry) =>
    JSON.stringify([mistake, shownBy?.includes(" › ") ? shownBy : [requirement, shownBy ?? scenario]]);
  return [...Map.groupBy(lines, ({ entry }) => keyOf(entry)).values()].flatMap((of) =>
    of[0] ? [{ mistake: of[0].entry.mistake, lines: of }] : [],
  );
};

const testsOfTrial = ({ lines }: Trial): ShowingTest[] => lines.flatMap(({ tests }) => tests);

/** Runs tests, file by file. */
const runAll = async (
  runner: MistakeRunner,
  tests: readonly ShowingTest[],
  mistake?: Replacement,
): Promise<Ended[]> => {
  const ended: Ended[] = [];
  for (const [file, ofFile] of Map.groupBy(tests, (test) => test.file)) {
    const names = new Set(ofFile.map(({ name }) => name));
    ended.push(...(await runner.run(file, [...names], mistake)));
  }
  return ended;
};

/** What became of the tests of a line: why one of them failed, or what is wrong where none did. */
const verdictOn = (tests: readonly ShowingTest[], ended: Ended[] | Error): { isSeen: boolean; why: string } => {
  if (ended instanceof Error) return { isSeen: false, why: ended.message };
  const failed = ended.find(({ name, isPassed }) => !isPassed && tests.some((test) => test.name === name));
  return failed
    ? { isSeen: true, why: failed.failure }
    : { isSeen: false, why: `these pass: ${tests.map(({ name }) => name).join("; ")}` };
};

/**
 * Violates each line of the specifications once, and runs the tests that are to show it.
 * @param words only lines whose names have these words
 * @returns true where for each mistake a test failed, and none without a mistake
 * @throws Error where no line has these words
 */
export const violateLines = async (words: string): Promise<boolean> => {
  const began = performance.now();
  const chosen = entries.filter(isPlanted).filter((entry) => nameOf(entry).includes(words));
  if (chosen.length === 0) throw new Error(`No mistake violates a line whose name has these words: ${words}`);
  const trials = trialsOf(chosen, await findShowingTests());
  const wrong: string[] = [];
  const runner = await startMistakeRunner();
  try {
    const before = await runAll(runner, trials.flatMap(testsOfTrial));
    for (const { name, failure, isPassed } of before)
      if (!isPassed) wrong.push(`Fails without a mistake: ${name}: ${failure}`);
    for (const trial of trials) {
      const ended = await runAll(runner, testsOfTrial(trial), trial.mistake).catch((error: Error) => error);
      for (const { entry, tests } of trial.lines) {
        const { isSeen, why } = verdictOn(tests, ended);
        console.log(`${isSeen ? "red" : "GREEN"}  ${nameOf(entry)}\n       ${why}`);
        if (!isSeen) wrong.push(`Not seen: ${nameOf(entry)}`);
      }
    }
  } finally {
    await runner.close();
  }
  const seconds = Math.round((performance.now() - began) / 1_000);
  const lines = new Set(chosen.map(nameOf)).size;
  console.log(`\n${lines} lines, ${chosen.length} mistakes, ${trials.length} planted, ${seconds} s.`);
  for (const line of wrong) console.log(line);
  return wrong.length === 0;
};
