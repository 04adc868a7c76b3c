import { expect, test } from "vitest";
import { shareCalls } from "../../../src/services/platform/share-calls.ts";

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
