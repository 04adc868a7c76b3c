import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { createDeadlines } from "../../../src/services/runtime/chart-index.ts";
import { seed } from "../../seed.ts";

test("the earliest deadline is that of all that are set, however they were moved and removed", () => {
  const move = fc.record({ id: fc.constantFrom("a", "b", "c", "d"), at: fc.option(fc.nat(9), { nil: undefined }) });
  fc.assert(
    fc.property(fc.array(move, { maxLength: 40 }), fc.nat(9), (moves, now) => {
      const deadlines = createDeadlines();
      const expected = new Map<string, number>();
      for (const { id, at } of moves) {
        deadlines.set(id, at);
        if (at === undefined) expected.delete(id);
        else expected.set(id, at);
        const earliest = Math.min(...expected.values());
        expect(deadlines.earliest() ?? Number.POSITIVE_INFINITY).toBe(earliest);
      }
      const due = [...expected].filter(([, at]) => at <= now).map(([id]) => id);
      const found = deadlines.due(now);
      expect(found.map(({ id }) => id).sort()).toEqual(due.sort());
      for (const { id, deadline } of found) expect(deadline).toBe(expected.get(id));
    }),
    { seed },
  );
});

test("all deadlines are looked at only when the chart with the earliest one has moved or lost it", () => {
  const deadlines = createDeadlines();
  for (let at = 1; at <= 1_000; at += 1) deadlines.set(`ses_${at}`, at);
  const looks = vi.spyOn(Map.prototype, "values");
  const lookedAfter = (change: () => void) => {
    looks.mockClear();
    change();
    deadlines.earliest();
    deadlines.earliest();
    return looks.mock.calls.length;
  };
  try {
    expect(lookedAfter(() => deadlines.set("ses_1", 1))).toBe(0);
    expect(lookedAfter(() => deadlines.set("ses_7", 7_000))).toBe(0);
    expect(lookedAfter(() => deadlines.set("ses_8", undefined))).toBe(0);
    expect(lookedAfter(() => deadlines.set("ses_0", 0))).toBe(0);
    expect(lookedAfter(() => deadlines.set("ses_without", undefined))).toBe(0);
    expect(lookedAfter(() => deadlines.set("ses_0", 5))).toBe(1);
    expect(lookedAfter(() => deadlines.set("ses_1", undefined))).toBe(1);
  } finally {
    looks.mockRestore();
  }
});

test("what is brought forward comes earlier, and keeps the deadline that it was given until it is given another one", () => {
  const deadlines = createDeadlines();
  deadlines.set("a", 100);
  deadlines.set("b", 130);
  deadlines.bringForward(60);
  expect([deadlines.earliest(), deadlines.due(40)]).toEqual([40, [{ id: "a", deadline: 100 }]]);
  deadlines.set("a", 90);
  deadlines.set("c", 80);
  expect([deadlines.earliest(), deadlines.due(80)]).toEqual([
    70,
    [
      { id: "b", deadline: 130 },
      { id: "c", deadline: 80 },
    ],
  ]);
  deadlines.set("b", undefined);
  expect(deadlines.earliest()).toBe(80);
});

test("a chart that has lost its deadline costs nothing any more", () => {
  const deadlines = createDeadlines();
  for (let at = 1; at <= 100; at += 1) deadlines.set(`ses_${at}`, at);
  for (let at = 1; at <= 99; at += 1) deadlines.set(`ses_${at}`, undefined);
  const compares = vi.spyOn(Math, "min");
  try {
    expect(deadlines.earliest()).toBe(100);
    expect(compares).toHaveBeenCalledTimes(1);
  } finally {
    compares.mockRestore();
  }
});
