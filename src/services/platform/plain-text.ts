/**
 * Returns the first `length` characters (UTF-16 units) of a text, never with half a surrogate pair at the end: providers
 * refuse a request with a lone surrogate. A sequence of several pairs, such as a flag, may be split.
 */
export const truncate = (text: string, length: number): string =>
  text.length <= length ? text : text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");

/** Returns a text without its first `length` characters, and without the second half of a surrogate pair split there. */
export const truncateStart = (text: string, length: number): string =>
  length <= 0 ? text : text.slice(length).replace(/^[\uDC00-\uDFFF]/, "");

/** Characters that are invisible and take no room. The two that select how an emoji is drawn are harmless. */
const INVISIBLE = /(?![\uFE0E\uFE0F])\p{Default_Ignorable_Code_Point}/gu;

/** Words of printable ASCII characters between single spaces: most lines are, and need no further look. */
const PLAIN_LINE = /^[!-~]+(?: [!-~]+)*$/;

/**
 * Returns a text as one line of visible characters and single spaces. The text may come from an agent or a model; in this
 * form it can neither move a cursor nor hide anything.
 */
export const toSingleLine = (text: string): string =>
  PLAIN_LINE.test(text)
    ? text
    : text
        .replaceAll(/[\p{C}\p{Z}]+/gu, " ")
        .replaceAll(INVISIBLE, "")
        .trim();

/** Returns a text on one line; if that is longer than `most` characters, its first `most` characters and `…`. */
export const truncateLine = (text: string, most: number): string => {
  const line = toSingleLine(text);
  return line.length > most ? `${truncate(line, most)}…` : line;
};

/** Control, format and unassigned characters and lone surrogates, except the line feed; and the Unicode line separators. */
const UNPRINTABLE = /[^\P{C}\n]|[\u2028\u2029]/gu;

const escaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`,
  ).join("");

/**
 * Returns a text with every character that a terminal would obey or hide written as `\u…`. JSON keeps its meaning:
 * there these characters occur only inside strings, where the escape stands for the same character.
 */
export const escapeUnprintable = (text: string): string => text.replaceAll(UNPRINTABLE, escaped);

/** Returns a line of a file as it can be shown anywhere: with its indentation, tabs as four spaces, and nothing hidden. */
export const codeLine = (line: string): string => escapeUnprintable(line.replaceAll("\t", "    "));

/** Returns several lines so, each as it is otherwise. */
export const codeText = (text: string): string => text.split("\n").map(codeLine).join("\n");
