import type { Replacement } from "../test/chaos/planted-mistakes.ts";

/**
 * Returns a file's source with a mistake in it.
 * @throws Error if the text that is replaced does not occur once in it
 */
export const replaced = (source: string, { file, code, mistake }: Replacement): string => {
  const occurrences = source.split(code).length - 1;
  if (occurrences === 1) return source.replace(code, () => mistake);
  throw new Error(`${file} has this text ${occurrences} times, and not once, so it cannot be replaced: ${code}`);
};
