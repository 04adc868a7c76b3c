import { truncate } from "./truncate.ts";

/** Characters that are neither shown nor take room. The two that choose how an emoji is drawn change nothing else. */
const INVISIBLE = /(?![\uFE0E\uFE0F])\p{Default_Ignorable_Code_Point}/gu;

/** A text on one line, that cannot move a cursor or hide anything: agents and models wrote it. */
export const toSingleLine = (text: string): string =>
  text
    .replaceAll(/[\p{C}\p{Z}]+/gu, " ")
    .replaceAll(INVISIBLE, "")
    .trim();

/** The same, cut where it is longer than `most` characters. */
export const truncateLine = (text: string, most: number): string => {
  const line = toSingleLine(text);
  return line.length > most ? `${truncate(line, most)}…` : line;
};

/** Characters of a task's description. It stands in headlines, titles and lists; a model may send its whole prompt. */
export const DESCRIPTION_CHARS = 200;

/** A task's description as it is kept and shown. */
export const shortDescription = (text: string): string => truncateLine(text, DESCRIPTION_CHARS);
