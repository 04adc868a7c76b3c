import { describe, expect, test } from "vitest";
import type { Figure } from "../../../bench/figures.ts";
import { type Ended, isGood, outcomeOf } from "../../../bench/table/outcome.ts";

const met: Figure = { what: "a page", value: 1, unit: "ms", goal: 2 };
const missed: Figure = { ...met, value: 3 };

const endedWith = (figures: Figure[], more: Partial<Ended> = {}): Ended => ({
  code: 0,
  signal: null,
  handedOver: JSON.stringify(figures),
  stderr: "",
  ...more,
});

test("a bench that meets its targets is good", () => {
  const outcome = outcomeOf("pages", endedWith([met]));
  expect(outcome).toEqual({ bench: "pages", figures: [met] });
  expect(isGood(outcome)).toBe(true);
});

test("a bench that misses a target has not failed, and is not good", () => {
  const outcome = outcomeOf("pages", endedWith([met, missed], { code: 1 }));
  expect(outcome.failure).toBeUndefined();
  expect(isGood(outcome)).toBe(false);
});

describe("a bench has failed", () => {
  const failureOf = (ended: Ended) => {
    const outcome = outcomeOf("pages", ended);
    expect(isGood(outcome)).toBe(false);
    return outcome.failure;
  };

  test("that hands nothing over, and its error is said", () => {
    const stderr = "at line 95\nError: there is no such page\n    at measure\n\nNode.js v24\n";
    expect(failureOf({ code: 1, signal: null, handedOver: undefined, stderr })).toBe(
      "ended with code 1 and without figures: Error: there is no such page",
    );
  });

  test("that hands an empty list over", () => {
    expect(failureOf(endedWith([]))).toMatch(/no list of figures/);
  });

  test("that hands half a list over", () => {
    expect(failureOf(endedWith([], { handedOver: '[{"what":"a pa' }))).toMatch(/no list of figures/);
  });

  test("that ends with an error though all its targets are met", () => {
    const outcome = outcomeOf("pages", endedWith([met], { code: 1, stderr: "no space left" }));
    expect(outcome.failure).toBe("ended with code 1, but its figures say 0: no space left");
    expect(outcome.figures).toEqual([met]);
  });

  test("that ends well though a target is missed", () => {
    expect(failureOf(endedWith([missed]))).toMatch(/figures say 1/);
  });

  test("that was killed, even after it handed its figures over", () => {
    expect(failureOf(endedWith([met], { code: null, signal: "SIGKILL" }))).toBe("ended by SIGKILL");
  });
});
