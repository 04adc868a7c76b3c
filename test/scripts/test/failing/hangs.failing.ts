import { expect, test } from "vitest";
import { poll } from "../../../e2e/lab/polling.ts";
import { setUp } from "../../../e2e/lab/set-up.ts";

const made: { isBroken: boolean; isTakenDown: boolean }[] = [];
/** What became of the test that hangs, after its time limit. */
let later: unknown;

setUp(async () => {
  const shared = { isBroken: false, isTakenDown: false };
  made.push(shared);
  return () => {
    shared.isTakenDown = true;
  };
});

test("breaks what it shares, and hangs", { timeout: 200 }, async () => {
  for (const shared of made) shared.isBroken = true;
  const never = new Promise<void>(() => undefined);
  await poll(
    () => false,
    60_000,
    () => never,
  ).catch((error: unknown) => {
    later = error;
  });
});

test("the next one has a new one, and is not disturbed", async () => {
  expect(made).toEqual([
    { isBroken: true, isTakenDown: true },
    { isBroken: false, isTakenDown: false },
  ]);
  await expect.poll(() => later).toBeInstanceOf(Error);
});

test("the one after it shares that", () => {
  expect(made).toHaveLength(2);
});
