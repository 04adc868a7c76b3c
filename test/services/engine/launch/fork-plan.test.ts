import { describe, expect, test } from "vitest";
import { forkPreamble, planFork } from "../../../../src/services/engine/launch/fork-plan.ts";
import type { ForkedMessage, ForkedPart } from "../../../../src/services/host/host.ts";

const LIMITS = { maxToolResultChars: 1_500, maxTokens: 100_000 };

/** Text of about so many tokens. */
const words = (tokens: number): string => "word ".repeat(tokens).trim();

const part = (text: string, overrides: Partial<ForkedPart> = {}): ForkedPart => ({
  id: `prt_${text.slice(0, 12)}_${text.length}`,
  kind: "text",
  text,
  uncuttableText: "",
  attachments: 0,
  raw: undefined,
  ...overrides,
});

const said = (id: string, role: ForkedMessage["role"], ...parts: ForkedPart[]): ForkedMessage => ({
  id,
  role,
  isSummary: false,
  parts: parts.map((own) => ({ ...own, id: `prt_${id}_${own.kind}` })),
});

const result = (text: string) => part(text, { kind: "toolResult", uncuttableText: '{"path":"a.ts"}' });

test("a short conversation is left as it is", () => {
  const messages = [said("m1", "user", part("count")), said("m2", "assistant", result("x".repeat(1_500)))];
  expect(planFork(messages, LIMITS)).toEqual({ cuts: [], drops: [] });
});

test("a tool result over 1,500 characters is cut, its original length stated, its call kept", () => {
  const { cuts, drops } = planFork([said("m1", "assistant", result("x".repeat(9_000)))], LIMITS);
  expect(drops).toEqual([]);
  expect(cuts).toHaveLength(1);
  expect(cuts[0]?.messageID).toBe("m1");
  expect(cuts[0]?.part.uncuttableText).toBe('{"path":"a.ts"}');
  expect(cuts[0]?.part.text).toBe(`${"x".repeat(1_500)}\n[Truncated: 9000 characters originally]`);
});

test("a failed tool's long error is cut like a result, a person's long text is not", () => {
  const messages = [said("m1", "user", part("y".repeat(9_000))), said("m2", "assistant", result("x".repeat(9_000)))];
  expect(planFork(messages, LIMITS).cuts.map(({ messageID }) => messageID)).toEqual(["m2"]);
});

describe("over 100,000 tokens", () => {
  const turns = Array.from({ length: 30 }, (_, n) => [
    said(`u${n}`, "user", part(`ask ${n}`)),
    said(`a${n}`, "assistant", part(`${n} ${words(6_000)}`)),
  ]).flat();

  test("the oldest messages go, the newest stay, and what is left begins with a user's message", () => {
    const { drops, cuts } = planFork(turns, LIMITS);
    expect(drops.length).toBeGreaterThan(20);
    expect(drops).toEqual(turns.slice(0, drops.length).map(({ id }) => id));
    expect(turns[drops.length]?.role).toBe("user");
    expect(drops).not.toContain("u29");
    expect(cuts).toEqual([]);
  });

  test("a compaction's summary stays; what stood before it is sent to nobody, and left alone", () => {
    const summary = { ...said("s2", "assistant", part("so far: much")), isSummary: true };
    const marker = { ...said("s1", "user"), isSummary: true };
    const { drops } = planFork([said("old", "user", part(words(500_000))), marker, summary, ...turns], LIMITS);
    expect(drops).not.toContain("old");
    expect(drops).not.toContain("s1");
    expect(drops).not.toContain("s2");
    expect(drops[0]).toBe("u0");
  });

  test("an answer goes with the question that was too large to stay", () => {
    const messages = [
      said("u0", "user", part(words(60_000))),
      said("a0", "assistant", part("yes")),
      said("u1", "user", part(words(60_000))),
      said("a1", "assistant", part("no")),
      said("u2", "user", part("go on")),
    ];
    expect(planFork(messages, LIMITS)).toEqual({ cuts: [], drops: ["u0", "a0"] });
  });

  test.each(["s1", "s2"])("a compaction's summary counts, both of its messages (the long one is %s)", (long) => {
    const summary = [said("s1", "user", part("sum up")), said("s2", "assistant", part("so far: much"))].map(
      (message) => ({
        ...message,
        isSummary: true,
        parts: message.id === long ? [part(words(60_000))] : message.parts,
      }),
    );
    const { drops, cuts } = planFork([...summary, ...turns], LIMITS);
    const dropped = turns.slice(0, drops.length).map(({ id }) => id);
    expect(drops).toEqual(dropped);
    // Some 6,000 tokens each turn: six of them fit beside the summary, and sixteen would without it.
    expect(turns.length - drops.length).toBeLessThan(2 * 8);
    expect(cuts).toEqual([]);
  });

  test("a long result in the message that asks for a summary is cut like any other", () => {
    const marker = { ...said("s1", "user", result("x".repeat(9_000))), isSummary: true };
    const summary = { ...said("s2", "assistant", part("so far: much")), isSummary: true };
    expect(planFork([marker, summary, said("u0", "user", part("go on"))], LIMITS).cuts).toEqual([
      expect.objectContaining({ messageID: "s1" }),
    ]);
  });

  test("a single message that is too large by itself is cut, and not dropped", () => {
    const { drops, cuts } = planFork(
      [said("u0", "user", part("hi")), said("u1", "user", part(words(300_000)))],
      LIMITS,
    );
    expect(drops).toEqual(["u0"]);
    expect(cuts.map(({ messageID }) => messageID)).toEqual(["u1"]);
    expect(cuts[0]?.part.text).toMatch(/\[Truncated: \d+ characters originally\]$/);
    const again = planFork([said("u1", "user", cuts[0]?.part ?? part(""))], LIMITS);
    expect(again).toEqual({ cuts: [], drops: [] });
  });

  test("attachments count too", () => {
    const pictures = Array.from({ length: 100 }, (_, n) => said(`u${n}`, "user", part("see", { attachments: 1 })));
    expect(planFork(pictures, LIMITS).drops.length).toBeGreaterThan(30);
  });
});

test("an empty conversation is no trouble", () => {
  expect(planFork([], LIMITS)).toEqual({ cuts: [], drops: [] });
});

test("the preamble says that context may be truncated, what was cut, and to read files again", () => {
  const plan = planFork([said("m1", "assistant", result("x".repeat(9_000)))], LIMITS);
  expect(forkPreamble(plan)).toMatch(/may be truncated/);
  expect(forkPreamble(plan)).toContain("Long texts that were shortened in it: 1.");
  expect(forkPreamble({ cuts: [], drops: ["a", "b"] })).toContain("The oldest 2 messages are left out.");
  expect(forkPreamble({ cuts: [], drops: [] })).toMatch(/Read files again/);
});
