import fc from "fast-check";
import { expect, test } from "vitest";
import { pack, unpack } from "../../../../src/services/store/sqlite/packed-json.ts";

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
