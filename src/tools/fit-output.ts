import { truncate, truncateStart } from "../services/platform/plain-text.ts";

/**
 * Bytes of a tool's JSON answer at most. The host cuts what is longer than 50 kB (50,000 or 51,200 bytes), and half a
 * JSON text is none; the rest is room for what it adds.
 */
const MOST = 49_000;

/** Characters of what stands beside the text: a summary, or why something failed. */
const BESIDE = 2_000;

/** A text beside the text that matters, cut where it is longer than that. */
export const truncateField = (text: string | undefined): string | undefined => {
  if (text === undefined || text.length <= BESIDE) return text;
  const start = truncate(text, BESIDE);
  return `${start}… [The first ${start.length} of ${text.length} characters.]`;
};

const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Where a text that is read in pieces begins, and what reads the next piece. */
export interface Piece {
  /** Characters that are left out at the beginning; they were read before. */
  offset: number;
  /** The call that reads on, after so many characters. */
  readOn(offset: number): string;
}

/** The result with as much of the text in that field as the host passes on whole, and how to read the rest. */
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
    [field]: text === "" && whole !== "" ? `[It has ${whole.length} characters.]` : text,
  };
  if (bytes(rest) <= MOST) return rest;
  const withText = (length: number): Result => {
    const piece = truncate(text, length);
    const end = whole.length - text.length + piece.length;
    const mark = `[Characters ${end - piece.length} to ${end} of ${whole.length}. ${readOn(end)}]`;
    return { ...result, [field]: `${piece}\n${mark}` };
  };
  // The longest beginning that fits: a character may take one byte in JSON, or six.
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (bytes(withText(middle)) <= MOST) low = middle;
    else high = middle - 1;
  }
  return withText(low);
};
