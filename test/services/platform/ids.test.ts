import { expect, test } from "vitest";
import { createIds } from "../../../src/services/platform/ids.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";

test("ids ascend, within a millisecond and across", async () => {
  const clock = createVirtualClock();
  const ids = createIds(clock);
  const made: string[] = [];
  for (let round = 0; round < 50; round += 1) {
    made.push(ids.message(), ids.message());
    await clock.advance(round % 3);
  }
  expect(made.toSorted()).toEqual(made);
  expect(new Set(made).size).toBe(made.length);
});

test("the parts of a message ascend in the order given, also when there are many", () => {
  const parts = createIds(createVirtualClock()).parts(200);
  expect(parts.toSorted()).toEqual(parts);
  expect(new Set(parts).size).toBe(200);
});

test("ids have the host's own layout", () => {
  const ids = createIds(createVirtualClock());
  expect(ids.message()).toMatch(/^msg_[0-9a-f]{12}[0-9A-Za-z]{14}$/);
  expect(ids.parts(1)[0]).toMatch(/^prt_[0-9a-f]{12}[0-9A-Za-z]{14}$/);
});

test("a clock that is set back makes no id come before an earlier one", () => {
  let now = 2_000;
  const ids = createIds({ now: () => now, after: () => () => undefined });
  const before = ids.message();
  now = 1_000;
  expect(ids.message() > before).toBe(true);
});
