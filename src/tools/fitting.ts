import { cut } from "../services/cut.ts";

/**
 * Bytes of a tool's JSON answer at most. The host cuts what is longer than 50 kB (50,000 or 51,200 bytes), and half a
 * JSON text is none; the rest is room for what it adds.
 */
const MOST = 49_000;

/** Characters of what stands beside the text: a summary, or why something failed. */
const BESIDE = 2_000;

/** A text beside the text that matters, cut where it is as long as that. */
export const beside = (text: string | undefined): string | undefined =>
  text === undefined || text.length <= BESIDE ? text : `${cut(text, BESIDE)}…`;

const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** The result with the text in that field cut so far that the host passes on all of it. `rest` says where the whole is. */
export const fitting = <Field extends string, Result extends Partial<Record<Field, string | undefined>>>(
  result: Result,
  field: Field,
  rest: string,
): Result => {
  const text: string | undefined = result[field];
  if (text === undefined || bytes(result) <= MOST) return result;
  const withText = (length: number): Result => {
    const start = cut(text, length);
    return { ...result, [field]: `${start}\n[The first ${start.length} of ${text.length} characters. ${rest}]` };
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
