import { inflateSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { pack, unpack } from "../../../../src/services/store/sqlite/text-table.ts";
import { scriptTask } from "../scripted-task.ts";
import { createSharedDatabase } from "../shared-database.ts";

const LONG = "x".repeat(201);

const packed = (value: unknown) => {
  const texts = new Map<number, string>();
  const json = JSON.stringify(
    pack(value, (text) => {
      const reference = texts.size;
      texts.set(reference, text);
      return reference;
    }),
  );
  const textOf = (reference: number): string => {
    const text = texts.get(reference);
    if (text === undefined) throw new Error(`no text ${reference}`);
    return text;
  };
  return { json, texts, textOf };
};

const key = fc.oneof(fc.string(), fc.constantFrom("$text", "$$text", "$$$text", "__proto__", "text"));
const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: "binary", minLength: 195, maxLength: 300 }),
  fc.constantFrom("0", LONG, `${LONG}\ud83d`, "\u0000".repeat(300)),
);
const { json: anyJson } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("json"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("json")), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  ),
}));

test("any JSON is the same after packing and unpacking, with strings and keys that look like references, too", () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      const { json, texts, textOf } = packed(value);
      expect(JSON.stringify(unpack(json, textOf))).toBe(JSON.stringify(value));
      for (const stored of texts.values()) expect(stored.length).toBeGreaterThan(200);
      // No long string is left in the JSON itself.
      JSON.parse(json, (_, inner) => {
        if (typeof inner === "string") expect(inner.length).toBeLessThanOrEqual(200);
      });
    }),
  );
});

test("what is packed stays as it was", () => {
  const value = { a: [LONG, { $text: LONG }], b: { c: 1 } };
  const before = structuredClone(value);
  packed(value);
  expect(value).toEqual(before);
});

test.each(["{", '{"a":{"$text":"5"}}', '{"a":{"$text":null}}', '{"$text":{"$text":0}}'])(
  "what nobody packed is refused: %s",
  (json) => {
    expect(() => unpack(json, () => LONG)).toThrow(SyntaxError);
  },
);

const PROMPT = "Look at each file. ".repeat(54);
const RESULT = "This is what I found.\n".repeat(180);

const opened = () => {
  const file = createSharedDatabase();
  const { store } = file.openAs("writer");
  const rows = () => file.rows<{ task: number; text: Uint8Array }>("SELECT task, text FROM text ORDER BY seq");
  const texts = () => rows().map(({ task, text }) => ({ task, text: JSON.parse(inflateSync(text).toString()) }));
  return { file, store, texts };
};

test("prompt and result are stored once, however often a task changes and is resumed", () => {
  const { store, texts } = opened();
  const story = scriptTask("ses_one", { prompt: PROMPT });
  const stored = () => texts().map(({ text }) => text);
  store.commit(story.launch());
  expect(stored()).toEqual([PROMPT]);
  for (const chapter of [() => story.answer(RESULT), () => story.deliver()]) store.commit(chapter());
  expect(stored()).toEqual([PROMPT, RESULT]);
  expect(store.get(story.id)).toEqual(story.record());
  expect(store.journal(story.id)).toEqual(story.events());
});

test("a process that takes over finds the texts that are stored already, also the one of two that begin alike", () => {
  const { file, store, texts } = opened();
  const story = scriptTask("ses_one", { prompt: `${PROMPT.repeat(3)}1` });
  store.commit(story.launch());
  store.commit(story.answer(`${PROMPT.repeat(3)}2`));
  store.close();
  const before = texts();
  const { store: next } = file.openAs("next");
  expect(next.adopt(file.clock.now(), () => true).tasks).toEqual([story.record()]);
  expect(next.commit(story.deliver())).toEqual([]);
  expect(texts()).toEqual(before);
  expect(next.get(story.id)).toEqual(story.record());
});

test("texts with half a character, a NUL or the look of a reference are read as they were written", () => {
  const { store } = opened();
  for (const [index, text] of ["half \ud83d", "NUL \u0000, more", '{"$text":1}', '", "😀'].entries()) {
    const story = scriptTask(`ses_${index}`, { prompt: text.repeat(60), description: text });
    store.commit(story.launch());
    store.commit(story.answer(text.repeat(1_000)));
    expect(store.get(story.id)).toEqual(story.record());
    expect(store.journal(story.id)).toEqual(story.events());
  }
});

test("the texts of a task go with it, and those of another stay", () => {
  const { store, texts } = opened();
  const stories = ["ses_a", "ses_b"].map((id) => scriptTask(id, { prompt: PROMPT }));
  for (const story of stories) store.commit(story.whole());
  expect(texts()).toHaveLength(2);
  store.remove(["ses_a"]);
  expect(texts().map(({ task }) => task)).toEqual([2]);
  expect(store.get("ses_b")).toEqual(stories[1]?.record());
  // Its number is used again, and not with its texts.
  store.remove(["ses_b"]);
  const next = scriptTask("ses_c", { prompt: PROMPT });
  store.commit(next.launch());
  expect(store.get("ses_c")).toEqual(next.record());
});

test("the first run of a resumed task is still its origin", () => {
  const { file, store } = opened();
  const story = scriptTask("ses_one", { prompt: PROMPT });
  store.commit(story.whole());
  const { origin: before } = file.journal("ses_one");
  store.commit(story.resume());
  store.commit({ records: [story.record()], journal: [], prompts: [] });
  expect(file.journal("ses_one").origin).toEqual(before);
  expect(before?.run).toMatchObject({ index: 0, prompt: PROMPT });
});

test("a snapshot, in which a result stands twice, is read back byte for byte", () => {
  const { file, store } = opened();
  const story = scriptTask("ses_one", { prompt: PROMPT });
  for (const chapter of [story.launch, () => story.answer(RESULT), story.deliver]) {
    store.commit(chapter());
    const { snapshot } = story.record();
    for (const read of [store.get("ses_one")?.snapshot, file.journal("ses_one").snapshot])
      expect(JSON.stringify(read)).toBe(JSON.stringify(snapshot));
  }
});
