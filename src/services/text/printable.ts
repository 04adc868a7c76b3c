/** Control, format and unassigned characters and lone surrogates, but for the line feed; and the other line ends. */
const UNPRINTABLE = /[^\P{C}\n]|[\u2028\u2029]/gu;

const escaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`,
  ).join("");

/**
 * The text with `\u…` for every character that a terminal would obey or hide. JSON stays the same JSON: there these
 * characters stand in strings only, and the escape means what it replaces.
 */
export const escapeUnprintable = (text: string): string => text.replaceAll(UNPRINTABLE, escaped);
