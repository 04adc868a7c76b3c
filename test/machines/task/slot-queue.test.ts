import { describe, expect, test } from "vitest";
import type { SlotLimits } from "../../../src/machines/task/slot-queue.ts";
import * as slotQueue from "../../../src/machines/task/slot-queue.ts";
import type { SlotRow } from "../../fakes/queue-in-memory.ts";
import * as queue from "../../fakes/queue-in-memory.ts";

const { GOES_AHEAD_MS } = slotQueue;
const NOW = Date.UTC(2026, 0, 1);
const startable = (rows: SlotRow[], now = NOW) => queue.startable(rows, now);
const queuePlaces = (rows: SlotRow[]) => queue.queuePlaces(rows, NOW);

const row = (taskId: string, given: Partial<SlotRow> = {}): SlotRow => ({
  taskId,
  agent: "general",
  provider: "anthropic",
  model: "anthropic/opus",
  priority: 0,
  since: 0,
  isHeld: false,
  goesOn: false,
  limits: { total: 2 },
  ...given,
});

const held = (taskId: string, given: Partial<SlotRow> = {}) => row(taskId, { isHeld: true, ...given });

const rows = (count: number, given: Partial<SlotRow> = {}): SlotRow[] =>
  Array.from({ length: count }, (_, index) => row(`ses_${index + 1}`, given));

test("as many start as the limit leaves room for", () => {
  expect(startable(rows(5))).toEqual(["ses_1", "ses_2"]);
  expect(startable([held("ses_0"), ...rows(5)])).toEqual(["ses_1"]);
  expect(startable([held("ses_a"), held("ses_b"), ...rows(5)])).toEqual([]);
});

test("none starts while more are at work than the limit allows: those that went on above it come first", () => {
  expect(startable([held("ses_a"), held("ses_b"), held("ses_c"), ...rows(1)])).toEqual([]);
});

test("the higher priority comes first, then the older, then the one that asked first", () => {
  const waiting = [
    row("ses_late", { since: 2 }),
    row("ses_second", { since: 1 }),
    row("ses_third", { since: 1 }),
    row("ses_urgent", { since: 3, priority: 1 }),
  ].map((each) => ({ ...each, limits: { total: 3 } }));
  expect(startable(waiting)).toEqual(["ses_urgent", "ses_second", "ses_third"]);
});

test.each<[string, SlotLimits, Partial<SlotRow>]>([
  ["provider", { provider: 1 }, { provider: "openai", model: "openai/gpt" }],
  ["model", { model: 1 }, { model: "anthropic/haiku" }],
  ["agent", { agent: 1 }, { agent: "explore" }],
])("a limit of one %s holds up its own, and is overtaken by others", (_, limits, other) => {
  const [first, second] = [row("ses_1", { limits }), row("ses_2", { limits })];
  expect(startable([first, second, row("ses_3", { ...other, limits })])).toEqual(["ses_1", "ses_3"]);
});

test("all limits that concern a run hold", () => {
  const limits = { total: 3, provider: 2, agent: 1 };
  const waiting = [
    row("ses_1", { limits }),
    row("ses_2", { limits, agent: "explore" }),
    row("ses_3", { limits, agent: "plan" }),
    row("ses_4", { limits, agent: "plan", provider: "openai", model: "openai/gpt" }),
    row("ses_5", { limits, agent: "review", provider: "openai", model: "openai/gpt" }),
  ];
  expect(startable(waiting)).toEqual(["ses_1", "ses_2", "ses_4"]);
});

test("a run without a model is concerned by no limit of a model or a provider", () => {
  const without = row("ses_2", { provider: undefined, model: undefined, limits: { total: 5, provider: 1, model: 1 } });
  expect(startable([held("ses_1"), without])).toEqual(["ses_2"]);
});

test("each waits for the limits of its own process: one that those hold up takes nobody's room", () => {
  const strict = rows(3, { limits: { total: 1 } });
  const loose = row("ses_4", { since: 5, limits: { total: 3 } });
  expect(startable([held("ses_0"), ...strict, loose])).toEqual(["ses_4"]);
});

test("a place counts those before it that wait for the same limit, and says how much of it is in use", () => {
  const limits = { total: 9, provider: 1 };
  const openai = { provider: "openai", model: "openai/gpt", limits };
  const places = queuePlaces([
    held("ses_a"),
    held("ses_b", openai),
    held("ses_c", openai),
    row("ses_1", { limits }),
    row("ses_2", openai),
    row("ses_3", { limits }),
  ]);
  expect(places.get("ses_3")).toEqual({
    place: 2,
    heldUpBy: { kind: "provider", name: "anthropic", used: 1, limit: 1 },
  });
  expect(places.get("ses_2")).toEqual({ place: 1, heldUpBy: { kind: "provider", name: "openai", used: 2, limit: 1 } });
});

test("one that can start waits for nothing, and those behind it for what it is about to take", () => {
  const places = queuePlaces([held("ses_0"), row("ses_1"), row("ses_2")]);
  expect(places.get("ses_1")).toEqual({ place: 1, heldUpBy: undefined });
  expect(places.get("ses_2")).toEqual({ place: 2, heldUpBy: { kind: "total", name: "", used: 1, limit: 2 } });
});

describe("while a provider refuses a run at work", () => {
  const refused = held("ses_0", { retriesAt: NOW + 5_000 });
  const openai = { provider: "openai", model: "openai/gpt" };

  test("none starts on it, and those of other providers do", () => {
    expect(startable([refused, row("ses_1"), row("ses_2", openai)])).toEqual(["ses_2"]);
    expect(startable([refused, row("ses_1", { provider: undefined, model: undefined })])).toEqual(["ses_1"]);
  });

  test("until it is answered, or has been asked again and is heard of no more", () => {
    const end = NOW + 5_000 + GOES_AHEAD_MS;
    expect(startable([refused, row("ses_1")], end - 1)).toEqual([]);
    expect(startable([refused, row("ses_1")], end)).toEqual(["ses_1"]);
    expect(startable([held("ses_0"), row("ses_1")], NOW)).toEqual(["ses_1"]);
  });

  test("a run starts that left a model which refused it, and goes on with another one of that provider", () => {
    expect(startable([refused, row("ses_1"), row("ses_2", { since: 1, goesOn: true })])).toEqual(["ses_2"]);
  });

  test("one that holds no slot keeps nobody from starting: it will not be asked again as it is", () => {
    expect(startable([{ ...refused, isHeld: false, limits: { total: 0 } }, row("ses_1")])).toEqual(["ses_1"]);
  });

  test("a place counts those before it that wait for the same provider, and says until when", () => {
    const later = held("ses_00", { retriesAt: NOW + 9_000 });
    const places = queuePlaces([later, refused, row("ses_1"), row("ses_2", { limits: { total: 1 } })]);
    const until = new Date(NOW + 9_000).toISOString();
    expect(places.get("ses_1")).toEqual({ place: 1, heldUpBy: { kind: "rateLimit", name: "anthropic", until } });
    expect(places.get("ses_2")).toEqual({ place: 2, heldUpBy: { kind: "rateLimit", name: "anthropic", until } });
  });
});

describe("the limits of a run", () => {
  const { limitsFor } = slotQueue;
  const concurrency = {
    default: 9,
    providers: { anthropic: 1 },
    models: { "anthropic/opus": 2 },
    agents: { general: 3 },
  };

  test("are those of its provider, its model and its agent, besides the total", () => {
    expect(limitsFor(row("ses_1"), concurrency)).toEqual({ total: 9, provider: 1, model: 2, agent: 3 });
  });

  test("leave out what has none, also by a name that every object has", () => {
    const named = { agent: "constructor", provider: "toString", model: undefined };
    expect(limitsFor(named, concurrency)).toEqual({
      total: 9,
      provider: undefined,
      model: undefined,
      agent: undefined,
    });
  });

  test("by provider and model concern no run whose model is not known", () => {
    const limits = { total: 3, provider: 0, model: 0 };
    expect(startable([row("ses_1", { provider: undefined, model: undefined, limits })])).toEqual(["ses_1"]);
  });
});

test("what was counted and is taken away again is not counted", () => {
  const counts = slotQueue.createCounts();
  for (const each of rows(3)) counts.add(each);
  counts.remove(row("ses_1"));
  expect([counts.of("total", ""), counts.of("agent", "general"), counts.of("provider", "anthropic")]).toEqual([
    2, 2, 2,
  ]);
});

test("a run whose provider is not known is held up by no provider that refuses", () => {
  const refused = held("ses_0", { provider: undefined, model: undefined, retriesAt: NOW + 5_000 });
  expect(startable([refused, row("ses_1", { provider: undefined, model: undefined })])).toEqual(["ses_1"]);
});
