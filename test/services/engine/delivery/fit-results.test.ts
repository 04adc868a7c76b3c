import fc from "fast-check";
import { estimateTokenCount } from "tokenx";
import { expect, test } from "vitest";
import { type Fit, fitResults } from "../../../../src/services/engine/delivery/notices.ts";

const ENGLISH = "The agent has counted all files of the project, and found twelve of them in three folders. ";
const CHINESE = "代理已统计项目中的所有文件，并在三个文件夹中找到十二个。";

const long = (words: string, chars: number) => words.repeat(Math.ceil(chars / words.length)).slice(0, chars);

/** About 80 tokens: what a notice says beside a result. */
const BESIDE = "The headline of a task, how many of its batch have ended, and its id. ".repeat(5);

const reported = (results: readonly string[], beside = BESIDE) => results.map((result) => ({ result, beside }));

/** The estimated tokens of what one prompt carries of these results. */
const carried = (results: readonly string[], { count, maxResultChars }: Fit, beside = BESIDE) =>
  results
    .slice(0, count)
    .reduce((sum, result) => sum + estimateTokenCount(result.slice(0, maxResultChars)) + estimateTokenCount(beside), 0);

test("few results share a fixed number of characters, whatever the model", () => {
  expect(fitResults(reported(["12", "13"]), { limit: 10_000, room: undefined, mayCut: true })).toEqual({
    count: 2,
    maxResultChars: 10_000,
  });
});

test.each([
  ["a large window", 60_000, 30_000],
  ["a window of 32,000 tokens that is half full", 12_000, 6_000],
  ["a window that is all but full", 300, 2_000],
])("twenty long results fit into the half of what is free in %s", (_, room, budget) => {
  const results = Array.from({ length: 20 }, () => long(ENGLISH, 10_000));
  const fit = fitResults(reported(results), { limit: 10_000, room, mayCut: true });
  expect(carried(results, fit)).toBeLessThanOrEqual(budget * 1.05);
  expect(fit.maxResultChars).toBeGreaterThanOrEqual(200);
});

test("a script of which a character is a token or more is cut shorter", () => {
  const [english, chinese] = [ENGLISH, CHINESE].map((words) =>
    fitResults(reported(Array.from({ length: 10 }, () => long(words, 10_000))), {
      limit: 10_000,
      room: 20_000,
      mayCut: true,
    }),
  );
  expect((chinese?.maxResultChars ?? 0) * 2).toBeLessThan(english?.maxResultChars ?? 0);
});

test("short results leave their share to a long one", () => {
  const results = [long(ENGLISH, 10_000), ...Array.from({ length: 19 }, () => "done")];
  expect(fitResults(reported(results), { limit: 10_000, room: 40_000, mayCut: true })).toEqual({
    count: 20,
    maxResultChars: 10_000,
  });
});

test("of more results than have room even when they are cut, the first go into one prompt", () => {
  const results = Array.from({ length: 200 }, () => long(ENGLISH, 5_000));
  const { count, maxResultChars } = fitResults(reported(results), { limit: 10_000, room: 20_000, mayCut: true });
  expect(count).toBeGreaterThan(60);
  expect(count).toBeLessThan(90);
  expect(maxResultChars).toBeGreaterThanOrEqual(200);
});

test("a hundred short results go into one prompt, and fewer where much else is said of each", () => {
  const results = Array.from({ length: 100 }, () => "The tests pass.");
  const limits = { limit: 10_000, room: 50_000, mayCut: true };
  expect(fitResults(reported(results), limits).count).toBe(100);
  const { count } = fitResults(reported(results, BESIDE.repeat(6)), limits);
  expect(count).toBeGreaterThan(40);
  expect(count).toBeLessThan(60);
});

test("where nobody could read the rest of a result, as many as fit go whole into one prompt", () => {
  const results = Array.from({ length: 20 }, () => long(ENGLISH, 10_000));
  const fit = fitResults(reported(results), { limit: 100_000, room: 20_000, mayCut: false });
  expect(fit.count).toBeGreaterThan(1);
  expect(fit.count).toBeLessThan(20);
  expect(fit.maxResultChars).toBeGreaterThanOrEqual(10_000);
});

test("at least one result goes into a prompt, and no prompt is larger than there is room for", () => {
  const result = fc
    .tuple(fc.constantFrom(ENGLISH, CHINESE), fc.nat(30_000))
    .map(([words, chars]) => long(words, chars));
  const given = fc.record({
    results: fc.array(result, { minLength: 1, maxLength: 12 }),
    room: fc.nat(60_000),
    mayCut: fc.boolean(),
  });
  fc.assert(
    fc.property(given, ({ results, room, mayCut }) => {
      const fit = fitResults(reported(results), { limit: mayCut ? 10_000 : 100_000, room, mayCut });
      expect(fit.count).toBeGreaterThanOrEqual(1);
      const budget = Math.max(2_000, Math.min(25_000, room / 2));
      expect(carried(results, fit)).toBeLessThanOrEqual(budget * 1.2);
    }),
    { numRuns: 50 },
  );
});
