import { expect, test } from "vitest";
import { atMost, shareCalls } from "../../../src/services/platform/concurrency.ts";
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

test("those who want the same while it is under way share one call, and nothing is kept, be it a failure or a result", async () => {
  const calls: string[] = [];
  const shared = shareCalls(async (key) => {
    calls.push(key);
    if (calls.length === 1) throw new Error("not now");
    return key.toUpperCase();
  });
  const first = [shared("a"), shared("a")];
  for (const call of first) await expect(call).rejects.toThrow("not now");
  expect(await Promise.all([shared("a"), shared("a"), shared("b")])).toEqual(["A", "A", "B"]);
  expect(calls).toEqual(["a", "a", "b"]);
});
