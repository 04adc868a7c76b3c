import { cut } from "./cut.ts";

/** A text on one line, that cannot move a cursor or hide anything: agents and models wrote it. */
export const plain = (text: string): string => text.replaceAll(/[\p{C}\p{Z}]+/gu, " ").trim();

/** The same, cut where it is longer than `most` characters. */
export const inShort = (text: string, most: number): string => {
  const line = plain(text);
  return line.length > most ? `${cut(line, most)}…` : line;
};
