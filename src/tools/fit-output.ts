import { truncate, truncateStart } from "../services/platform/plain-text.ts";

/**
 * Maximum size of a tool's JSON output in bytes. The host cuts output over 50 kB (50,000 or 51,200 bytes), which would make
 * the JSON invalid; the margin is for what the host adds.
 */
const MAX_BYTES = 49_000;

/** Maximum length of a field other than the result, such as a summary or an error. */
const FIELD_CHARS = 2_000;

/** Cuts a field other than the result to `FIELD_CHARS`, and says so at its end. */
export const truncateField = (text: string | undefined): string | undefined => {
  if (text === undefined || text.length <= FIELD_CHARS) return text;
  const start = truncate(text, FIELD_CHARS);
  return `${start}… [The first ${start.length} of ${text.length} characters.]`;
};

const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Which piece of a long text is wanted, and how to read the next one. */
interface Piece {
  /** Characters to skip at the beginning. */
  offset: number;
  /** Names which call reads the piece that starts at `offset`. */
  readOn(offset: number): string;
}

/**
 * Returns the result with as much of the text in `field` as fits into the host's limit, from `piece.offset` on. If that
 * is not all, the text ends with a line that says how to read the rest.
 */
export const truncateToLimit = <Field extends string, Result extends Partial<Record<Field, string | undefined>>>(
  result: Result,
  field: Field,
  { offset, readOn }: Piece,
): Result => {
  const whole: string | undefined = result[field];
  if (whole === undefined) return result;
  const text = truncateStart(whole, offset);
  const rest: Result = {
    ...result,
    [field]: text === "" && whole !== "" ? `[The text has only ${whole.length} characters.]` : text,
  };
  if (bytes(rest) <= MAX_BYTES) return rest;
  const withText = (length: number): Result => {
    const piece = truncate(text, length);
    const end = whole.length - text.length + piece.length;
    const mark = `[Characters ${end - piece.length} to ${end} of ${whole.length}. ${readOn(end)}]`;
    return { ...result, [field]: `${piece}\n${mark}` };
  };
  // Searches for the longest text that fits: a character takes one to six bytes in JSON.
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (bytes(withText(middle)) <= MAX_BYTES) low = middle;
    else high = middle - 1;
  }
  return withText(low);
};
