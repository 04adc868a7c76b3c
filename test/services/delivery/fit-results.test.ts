import fc from "fast-check";
import { estimateTokenCount } from "tokenx";
import { expect, test } from "vitest";
import { fitResults } from "../../../src/services/delivery/fit-results.ts";

const ENGLISH = "The agent has counted all files of the project, and found twelve of them in three folders. ";
const CHINESE = "代理已统计项目中的所有文件，并在三个文件夹中找到十二个。";

const long = (words: string, chars: number) => words.repeat(Math.ceil(chars / words.length)).slice(0, chars);

/** The estimated tokens of what one prompt carries of these results. */
const carried = (results: string[], { count, maxResultChars }: ReturnType<typeof fitResults>) =>
  results.slice(0, count).reduce((sum, result) => sum + estimateTokenCount(result.slice(0, maxResultChars)), 0);

test("few results share a fixed number of characters, whatever the model", () => {
  expect(fitResults(["12", "13"], { limit: 10_000, room: undefined, mayCut: true })).toEqual({
    count: 2,
    maxResultChars: 10_000,
  });
});

test.each([
  ["a large window", 900_000, 25_000],
  ["a window of 32,000 tokens that is half full", 12_000, 6_000],
  ["a window that is all but full", 300, 2_000],
])("twenty long results fit into the half of what is free in %s", (_, room, budget) => {
  const results = Array.from({ length: 20 }, () => long(ENGLISH, 10_000));
  const fit = fitResults(results, { limit: 10_000, room, mayCut: true });
  expect(carried(results, fit) + 250 * fit.count).toBeLessThanOrEqual(budget * 1.05);
  expect(fit.maxResultChars).toBeGreaterThanOrEqual(200);
});

test("a script of which a character is a token or more is cut shorter", () => {
  const [english, chinese] = [ENGLISH, CHINESE].map((words) =>
    fitResults(
      Array.from({ length: 10 }, () => long(words, 10_000)),
      { limit: 10_000, room: 20_000, mayCut: true },
    ),
  );
  expect((chinese?.maxResultChars ?? 0) * 2).toBeLessThan(english?.maxResultChars ?? 0);
});

test("short results leave their share to a long one", () => {
  const results = [long(ENGLISH, 10_000), ...Array.from({ length: 19 }, () => "done")];
  expect(fitResults(results, { limit: 10_000, room: 40_000, mayCut: true })).toEqual({
    count: 20,
    maxResultChars: 10_000,
  });
});

test("of more results than have room even when they are cut, the first go into one prompt", () => {
  const results = Array.from({ length: 200 }, () => long(ENGLISH, 5_000));
  const { count, maxResultChars } = fitResults(results, { limit: 10_000, room: 20_000, mayCut: true });
  expect(count).toBeGreaterThan(20);
  expect(count).toBeLessThan(40);
  expect(maxResultChars).toBeGreaterThanOrEqual(200);
});

test("where nobody could read the rest of a result, as many as fit go whole into one prompt", () => {
  const results = Array.from({ length: 20 }, () => long(ENGLISH, 10_000));
  const fit = fitResults(results, { limit: 100_000, room: 20_000, mayCut: false });
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
      const fit = fitResults(results, { limit: mayCut ? 10_000 : 100_000, room, mayCut });
      expect(fit.count).toBeGreaterThanOrEqual(1);
      const budget = Math.max(2_000, Math.min(25_000, room / 2));
      expect(carried(results, fit)).toBeLessThanOrEqual(budget * 1.2);
    }),
    { numRuns: 50 },
  );
});
