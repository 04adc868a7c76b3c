import { describe, expect, test } from "vitest";
import { holds, type Reference, usage } from "./capacity-reference.ts";
import { createMoves, type Family, keyOf, type Move, slotsOf, type World } from "./capacity-world.ts";

/*
 * All short ways in which several tasks come to share few slots. What is expected of each world is said by a reference of
 * its own, made from the words of the specification.
 */

const task = { provider: "anthropic", agent: "general", priority: 0 };

const families: Record<string, Family> = {
  "two parents with a task each, on one slot": {
    kinds: { lead: task, help: { ...task, parent: "lead" }, other: task, otherHelp: { ...task, parent: "other" } },
    limits: { total: 1 },
  },
  "two parents at work on both slots, before they launch tasks": {
    kinds: { lead: task, other: task, help: { ...task, parent: "lead" }, otherHelp: { ...task, parent: "other" } },
    limits: { total: 2 },
    begin: [
      "lead is launched",
      "other is launched",
      "slots for lead and other",
      "lead: is accepted",
      "other: is accepted",
    ],
  },
  "a parent whose tasks wait for its slot": {
    kinds: { lead: task, help: { ...task, parent: "lead" }, more: { ...task, parent: "lead" } },
    limits: { total: 1 },
    begin: ["lead is launched", "slots for lead", "lead: is accepted", "help is launched", "more is launched"],
  },
  "a parent that is resumed, and of whose last run a call never returned": {
    kinds: { lead: task, help: { ...task, parent: "lead" }, other: task },
    limits: { total: 2 },
    begin: [
      "lead is launched",
      "slots for lead",
      "lead: is accepted",
      "help is launched",
      "lead: waits in a call for help",
      "lead: ends its turn, though nobody says that its call has returned",
      "lead: is answered",
      "lead is resumed",
    ],
  },
  "a provider that refuses one of two tasks": {
    kinds: { refused: task, waiting: task },
    limits: { total: 2 },
    begin: [
      "refused is launched",
      "slots for refused",
      "refused: is accepted",
      "refused: is refused for now",
      "waiting is launched",
    ],
  },
  "a parent with two tasks, one of them urgent, on two slots": {
    kinds: {
      lead: task,
      help: { ...task, parent: "lead" },
      urgent: { ...task, parent: "lead", priority: 1 },
      other: task,
    },
    limits: { total: 2 },
  },
  "a parent above its task, that above another, on one slot of their agent": {
    kinds: {
      top: task,
      middle: { ...task, parent: "top" },
      bottom: { ...task, parent: "middle" },
      beside: { ...task, agent: "explore" },
    },
    limits: { total: 2, agents: { general: 1 } },
  },
  "tasks of two providers, one of which has one slot": {
    kinds: { slow: task, second: task, fast: { ...task, provider: "openai" }, urgent: { ...task, priority: 2 } },
    limits: { total: 2, providers: { anthropic: 1 } },
  },
};

/** How many worlds of each family are looked at: those that the fewest moves lead to. `CAPACITY_WORLDS=10000`: more. */
const WORLDS = Number(process.env.CAPACITY_WORLDS ?? 400);

interface Reached {
  world: World;
  /** The moves that lead there. */
  trail: readonly string[];
}

const named = (reference: Reference, isMeant: (known: Reference[string]) => boolean): string[] =>
  Object.entries(reference).flatMap(([name, known]) => (isMeant(known) ? [name] : []));

/** What works goes on by itself, and what a person is asked by when it is answered. Without either, all would wait for ever. */
const canGoOn = ({ reference }: World, moves: readonly Move[]): boolean =>
  Object.values(reference).every(({ phase }) => phase === "ended") ||
  Object.values(reference).some((known) => holds(known) || known.asksPerson) ||
  moves.some(({ started = [] }) => started.length > 0);

const sorted = (names: readonly string[]): string => names.toSorted().join(", ") || "none";

/** Returns what is wrong in a world, and with what can happen next. */
const faultsOf = ({ kinds, limits }: Family, world: World, moves: readonly Move[]): string[] => {
  const { held, waiting } = slotsOf(world);
  const shouldHold = named(world.reference, holds);
  const shouldWait = named(world.reference, ({ phase }) => phase === "queued");
  const before = usage(world.reference, kinds, limits);
  return [
    ...(sorted(held) === sorted(shouldHold) ? [] : [`${sorted(held)} hold a slot, not ${sorted(shouldHold)}`]),
    ...(sorted(waiting) === sorted(shouldWait)
      ? []
      : [`${sorted(waiting)} wait for a slot, not ${sorted(shouldWait)}`]),
    ...(canGoOn(world, moves) ? [] : ["nobody can go on"]),
    ...moves.flatMap(({ started = [], expected = [], after }) => [
      ...(sorted(started) === sorted(expected) ? [] : [`${sorted(started)} would start, not ${sorted(expected)}`]),
      ...usage(after.reference, kinds, limits).flatMap(({ used, limit }, index) =>
        started.length > 0 && used > limit && used > (before[index]?.used ?? 0)
          ? [`${used} of ${limit} would work`]
          : [],
      ),
    ]),
  ];
};

/** Looks at the worlds of a family, those first that few moves lead to. Stops at the first fault, with the way to it. */
const explore = (family: Family): { worlds: number; fault: string | undefined } => {
  const { next, first } = createMoves(family);
  const seen = new Set<string>();
  const reached: Reached[] = [{ world: first(), trail: family.begin ?? [] }];
  for (const [looked, { world, trail }] of reached.entries()) {
    if (looked >= WORLDS) break;
    const moves = next(world);
    const [fault] = faultsOf(family, world, moves);
    if (fault) return { worlds: looked, fault: `${fault}, after: ${trail.join(" → ")}` };
    for (const { name, after } of moves) {
      const key = keyOf(after);
      if (seen.has(key)) continue;
      seen.add(key);
      reached.push({ world: after, trail: [...trail, name] });
    }
  }
  return { worlds: Math.min(reached.length, WORLDS), fault: undefined };
};

describe("tasks that share slots hold them, wait and start as the specification says", () => {
  test.each(Object.entries(families))("%s", (_, family) => {
    const { worlds, fault } = explore(family);
    expect(fault, fault).toBeUndefined();
    expect(worlds).toBeGreaterThan(100);
  });
});
