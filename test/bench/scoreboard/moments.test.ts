import { expect, test } from "vitest";
import { chooseMoments, PARTS } from "../../../bench/scoreboard/moments.ts";

test("a seed always chooses the same moments, and another one others", () => {
  expect(chooseMoments(10, 1)).toEqual(chooseMoments(10, 1));
  expect(chooseMoments(10, 1)).not.toEqual(chooseMoments(10, 2));
});

test.for([4, 10, 40])("%d moments are numbered, and spread over all parts of a task's life in its order", (count) => {
  const moments = chooseMoments(count, 7);
  expect(moments.map(({ number }) => number)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  const parts = moments.map(({ part }) => part);
  expect([...new Set(parts)]).toEqual(PARTS.map(({ name }) => name));
  for (const { name } of PARTS) {
    const share = parts.filter((part) => part === name).length / count;
    expect(Math.abs(share - 1 / PARTS.length)).toBeLessThanOrEqual(1 / count);
  }
});

test.for([1, 2, 3, 99])("with seed %d no moment lies outside its part", (seed) => {
  for (const { part, delay } of chooseMoments(100, seed)) {
    const within = PARTS.find(({ name }) => name === part)?.within;
    expect(delay).toBeGreaterThanOrEqual(0);
    expect(delay).toBeLessThanOrEqual(within ?? 0);
  }
});
