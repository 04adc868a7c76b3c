/** The number of a text that is stored beside packed JSON. */
export type TextReference = number;

/** Strings with more characters than this become texts. A text takes some 30 bytes beside itself. */
const LONGEST_INLINE = 200;

const REFERENCE = "$text";

/** Keys that would make an object look like a reference. In packed JSON each has one more `$`. */
const LOOKALIKE = /^\$+text$/;
const ESCAPED_LOOKALIKE = /^\$\$+text$/;

type Fields = Record<string, unknown>;

/** Returns the object, or a copy of it in which the keys that match are others. */
const withKeys = (fields: Fields, which: RegExp, rename: (key: string) => string): Fields =>
  Object.keys(fields).some((key) => key.startsWith("$") && which.test(key))
    ? Object.fromEntries(Object.entries(fields).map(([key, field]) => [which.test(key) ? rename(key) : key, field]))
    : fields;

/** Returns a JSON value with each long string replaced by `{ "$text": reference }`. */
export const pack = (value: unknown, store: (text: string) => TextReference): unknown => {
  const packed = (inner: unknown): unknown => {
    if (typeof inner === "string") return inner.length > LONGEST_INLINE ? { [REFERENCE]: store(inner) } : inner;
    if (Array.isArray(inner)) return inner.map(packed);
    return typeof inner === "object" && inner !== null ? withFieldsPacked(inner as Fields) : inner;
  };
  /** Copies only objects with a long string in them, for speed: most have none. */
  const withFieldsPacked = (fields: Fields): Fields => {
    let changed = withKeys(fields, LOOKALIKE, (key) => `$${key}`);
    for (const key of Object.keys(changed)) {
      const field = packed(changed[key]);
      if (field === changed[key]) continue;
      if (changed === fields) changed = { ...fields };
      changed[key] = field;
    }
    return changed;
  };
  return packed(value);
};

/**
 * Parses JSON that `pack` returned, with the texts back in their places. Throws `SyntaxError` when it is not JSON, or has a
 * reference that `pack` did not write; and what `textOf` throws.
 */
export const unpack = (json: string, textOf: (reference: TextReference) => string): unknown => {
  // What was just parsed is nobody else's: it is changed in place, for speed.
  const unpacked = (inner: unknown): unknown => {
    if (typeof inner !== "object" || inner === null) return inner;
    if (!Array.isArray(inner) && REFERENCE in inner) {
      if (typeof inner[REFERENCE] === "number") return textOf(inner[REFERENCE]);
      throw new SyntaxError(`a ${REFERENCE} that refers to nothing`);
    }
    const fields = Array.isArray(inner) ? (inner as unknown as Fields) : (inner as Fields);
    const whole = withKeys(fields, ESCAPED_LOOKALIKE, (key) => key.slice(1));
    for (const key of Object.keys(whole)) {
      const field = whole[key];
      if (typeof field === "object" && field !== null) whole[key] = unpacked(field);
    }
    return whole;
  };
  return unpacked(JSON.parse(json));
};
