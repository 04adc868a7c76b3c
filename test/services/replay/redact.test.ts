import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Journal, replay } from "../../../src/machines/task/replay.ts";
import { snapshotDifferences, toJson } from "../../../src/services/replay/differences.ts";
import { parseExportedJournal, redactJournal, serialize } from "../../../src/services/replay/export-file.ts";
import { foreignText } from "../../fakes/foreign-text.ts";
import { journalFrom, picks, READABLE } from "../../machines/journals.ts";
import { pureRuns } from "../../seed.ts";

const SIGNS = [..."жщюфЖЩЮФ漢字説明☂☃♞♜🙂🦊"];

/** Texts of characters that occur in no export except in private texts. */
const SECRETS = fc.array(fc.string({ unit: fc.constantFrom(...SIGNS), minLength: 1 }), { minLength: 1, maxLength: 8 });

const FACTS = { exportedAt: "2026-01-01T00:00:00.000Z", plugin: "1.2.3", schema: 2 };

const exported = (journal: Journal, hasText: boolean): string => serialize(journal, { ...FACTS, hasText });

const readBack = (text: string): Journal => {
  const file = parseExportedJournal(text);
  if ("wrong" in file) throw new Error(file.wrong);
  return file.journal;
};

const isExact = ({ origin, events, snapshot }: Journal): boolean => {
  if (!origin) return false;
  const replayed = replay(origin, events);
  return (
    replayed.steps.every(({ refused }) => refused === undefined) &&
    snapshotDifferences(replayed.snapshot, snapshot).length === 0
  );
};

test("an export shows nothing that a terminal obeys, and is the same journal when it is read", () => {
  fc.assert(
    fc.property(picks, fc.array(foreignText, { minLength: 1, maxLength: 8 }), (chosen, said) => {
      const journal = toJson(journalFrom(chosen, said));
      const text = exported(journal, true);
      expect(text).not.toMatch(/[^\P{C}\n]|[\u2028\u2029]/u);
      expect(readBack(text)).toEqual(journal);
    }),
    { seed: 20_261_122, numRuns: pureRuns(60) },
  );
});

describe("an export without text", () => {
  test("has nothing of what was said, wherever it was, and replays as the journal does", () => {
    fc.assert(
      fc.property(picks, SECRETS, (chosen, secrets) => {
        const journal = toJson(journalFrom(chosen, secrets));
        const text = exported(journal, false);
        expect(SIGNS.filter((sign) => text.includes(sign))).toEqual([]);
        expect(isExact(readBack(text))).toBe(true);
      }),
      { numRuns: pureRuns(150) },
    );
  });

  test("replays exactly whatever was said, also what looks like a placeholder or like our own words", () => {
    const words = fc.oneof(
      READABLE,
      fc.constant<string[]>(["‹text 1: 4 characters›", "‹text 2: 3 characters›", "none", "completed", "general"]),
      fc.constant<string[]>(["The task's session was deleted before it answered.", "SessionGone", "null", "__proto__"]),
    );
    fc.assert(
      fc.property(picks, words, (chosen, said) => {
        expect(isExact(readBack(exported(toJson(journalFrom(chosen, said)), false)))).toBe(true);
      }),
      { numRuns: pureRuns(100) },
    );
  });

  test("still shows where a journal does not lead to what is stored", () => {
    const journal = toJson(journalFrom([0, 0, 0, 0, 0], ["secret"]));
    journal.snapshot.context.result = "another secret";
    const read = readBack(exported(journal, false));
    if (!read.origin) throw new Error("the origin is lost");
    const found = snapshotDifferences(replay(read.origin, read.events).snapshot, read.snapshot);
    expect(found.map(({ path }) => path)).toEqual(["context.result"]);
    expect(found[0]?.stored).toMatch(/^‹text \d+: 14 characters›$/);
  });

  test("keeps ids that OpenCode made, times, numbers, and the names of agents and models", () => {
    const journal = toJson(journalFrom([], ["said"]));
    const id = "ses_3c6d1f0a9b2cABCDefgh123456";
    Object.assign(journal.origin.facts, { sessionID: id, batchId: "batch_3c6d1f0a9b2cABCDefgh123456" });
    const { facts } = readBack(exported(journal, false)).origin ?? {};
    expect(facts).toMatchObject({
      sessionID: id,
      batchId: "batch_3c6d1f0a9b2cABCDefgh123456",
      agent: "general",
      model: { providerID: "fake", modelID: "m1", variant: "high" },
      startedAt: journal.origin.facts.startedAt,
      prompt: expect.stringMatching(/^‹text/),
    });
  });

  test("hides fields that it does not know, and whatever stands where something else is expected", () => {
    const journal = toJson(journalFrom([0, 1], ["said"]));
    const secret = "my secret";
    Object.assign(journal.origin.facts, { nickname: secret, priority: secret, model: secret, startedAt: secret });
    Object.assign(journal.origin.run, { notes: { [secret]: [secret] }, index: { secret } });
    Object.assign(journal.events[0] ?? {}, { at: secret, remark: secret, [secret]: 1, error: [secret] });
    Object.assign(journal.snapshot.context, {
      waiters: secret,
      requests: [secret, { what: { secret } }],
      extra: secret,
    });
    Object.assign(journal.snapshot, { value: { lifecycle: { [secret]: secret } }, more: secret });
    Object.assign(journal, { parent: secret });
    expect(JSON.stringify(redactJournal(journal))).not.toContain("secret");
  });

  test("has the same placeholder for the same text everywhere", () => {
    const { origin } = redactJournal(toJson(journalFrom([], ["the same"])));
    expect(origin?.run.prompt).toBe("‹text 1: 8 characters›");
    expect(origin?.facts.directory).toBe("‹text 1: 8 characters›");
  });
});

test("an export with text has the journal as it is", () => {
  fc.assert(
    fc.property(picks, READABLE, (chosen, words) => {
      const journal = toJson(journalFrom(chosen, words));
      expect(readBack(exported(journal, true))).toEqual(journal);
    }),
    { numRuns: pureRuns(50) },
  );
});

test("a journal that does not go back to the launch is exported too", () => {
  const journal = { ...toJson(journalFrom([0, 1, 2], ["secret"])), origin: null };
  const text = exported(journal, false);
  expect(text).not.toContain("secret");
  expect(readBack(text).origin).toBeNull();
});

test.each([
  ["no JSON", "{", "is not JSON"],
  ["something else", "[1]", "is not an exported journal"],
  ["other JSON", '{"name":"x"}', "is not an exported journal"],
  [
    "a newer layout",
    '{"format":"opencode-taskchart journal","version":3}',
    "has layout 3, and this version reads layout 2",
  ],
  [
    "the layout from before the charts were renamed",
    '{"format":"opencode-taskchart journal","version":1}',
    "was exported by an older version of this plugin: export the task again",
  ],
  ["a part of one", '{"format":"opencode-taskchart journal","version":2}', /^is damaged: exportedAt: /],
])("a file with %s is refused in words", (_, text, wrong) => {
  expect(parseExportedJournal(text)).toEqual({
    wrong: typeof wrong === "string" ? wrong : expect.stringMatching(wrong),
  });
});
