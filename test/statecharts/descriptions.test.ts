import { describe, expect, test } from "vitest";
import { shown } from "../../scripts/statecharts/files.ts";
import { NO_WORDS } from "../../src/machines/guard-phrase.ts";
import { withAllInside } from "../../src/machines/plain-chart.ts";

const SENTENCES = /^[A-Z`].*\.$/s;

describe.for(shown)("the chart $chart.name", ({ chart, words: { meanings } }) => {
  const states = withAllInside(chart);
  const transitions = states.flatMap((state) => state.transitions);

  test("describes every state", () => {
    for (const { path, description } of states) expect(description, path || chart.name).toMatch(SENTENCES);
  });

  test("describes every event in every state", () => {
    for (const { source, event, description } of transitions) {
      expect(description, `${event || "at once"} in ${source || chart.name}`).toMatch(SENTENCES);
      expect(description?.startsWith(meanings[event] ?? "")).toBe(true);
    }
  });

  test("takes every event that it gives a meaning to, and no other", () => {
    const taken = new Set(transitions.map(({ event }) => event).filter((event) => event !== ""));
    expect([...taken].toSorted()).toEqual(Object.keys(meanings).toSorted());
  });

  test("has words for each condition, also where a guard must not hold", () => {
    for (const { condition = "", event, source } of transitions)
      expect(condition.includes(NO_WORDS), `${event} in ${source}: ${condition}`).toBe(false);
  });

  test("raises only events that it takes", () => {
    for (const { raises } of [...states, ...transitions]) {
      for (const event of raises) expect(meanings).toHaveProperty([event.replace(/ .*/, "")]);
    }
  });

  test("gives reasons for refusing events that it knows", () => {
    for (const { refusals } of states)
      for (const event of Object.keys(refusals)) expect(meanings).toHaveProperty([event]);
  });
});
