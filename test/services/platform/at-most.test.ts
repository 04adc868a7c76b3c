import { expect, test } from "vitest";
import { atMost } from "../../../src/services/platform/at-most.ts";
import { settled } from "../../fakes/virtual-clock.ts";

test("at most so many works are done at a time, and the one that came first is next, whatever became of the others", async () => {
  const inTurn = atMost(2);
  const begun: number[] = [];
  const works = Array.from({ length: 5 }, () => Promise.withResolvers<number>());
  const results = works.map(({ promise }, index) =>
    inTurn(() => {
      begun.push(index);
      return promise;
    }),
  );
  await settled();
  expect(begun).toEqual([0, 1]);
  works[1]?.reject(new Error("no"));
  await expect(results[1]).rejects.toThrow("no");
  await settled();
  expect(begun).toEqual([0, 1, 2]);
  for (const index of [0, 2, 3, 4]) works[index]?.resolve(index);
  expect(await Promise.all([results[0], ...results.slice(2)])).toEqual([0, 2, 3, 4]);
  expect(begun).toEqual([0, 1, 2, 3, 4]);
});
