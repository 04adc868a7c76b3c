import { columnsOf, cut, wrap } from "../../services/platform/columns.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";

/** The colours of the theme that the panel uses, by what they mean. */
export type Tone = "text" | "muted" | "warning" | "error" | "success" | "accent";

/** A piece of a line in one colour. */
export interface Segment {
  text: string;
  tone: Tone;
  bold?: boolean;
}

export interface Line {
  segments: Segment[];
  /** The task that it is about: a click opens its session. */
  taskId?: string;
}

export const muted = (text: string): Segment => ({ text, tone: "muted" });

/** Returns what stands before a task that has so many of its ancestors in the list. */
export const branchOf = (depth: number): Segment => muted(depth === 0 ? "" : `${"  ".repeat(depth - 1)}└ `);

/** Returns a text in one line of at most that many columns; one that is longer ends with `…`. */
export const cutText = (text: string, columns: number): string => cut(toSingleLine(text), columns);

/** Breaks a text between words into lines of at most that many columns; a longer word is cut, and so is what follows `most` lines. */
export const wrapped = (text: string, columns: number, most?: number): string[] =>
  wrap(toSingleLine(text), columns, most).map((line) => cut(line, columns));

/** Lines that a warning takes at most, unless `most` says otherwise. */
const MAX_WARNING_LINES = 4;

/** Writes a sentence about what is wrong, in at most `most` lines; nothing where nothing is. */
export const warningLines = (text: string | undefined, columns: number, most = MAX_WARNING_LINES): Line[] =>
  text === undefined
    ? []
    : wrapped(text, columns, most).map((line) => ({ segments: [{ text: line, tone: "warning" }] }));

const widthOf = (segments: readonly Segment[]): number => segments.reduce((sum, { text }) => sum + columnsOf(text), 0);

/**
 * Returns a line of `columns` columns: `head`, then `middle` in the room that is left, then `tail` at the right edge. The
 * middle is the one that is cut.
 */
export const spread = (
  head: readonly Segment[],
  middle: Segment,
  tail: readonly Segment[],
  columns: number,
): Segment[] => {
  const room = columns - widthOf(head) - widthOf(tail) - (tail.length > 0 ? 1 : 0);
  const text = cutText(middle.text, Math.max(0, room));
  const gap = tail.length > 0 ? " ".repeat(Math.max(1, room + 1 - columnsOf(text))) : "";
  return [...head, { ...middle, text }, ...(gap === "" ? [] : [{ text: gap, tone: "muted" as const }]), ...tail];
};

/** Returns the text of a line, without its colours. */
export const plain = ({ segments }: Pick<Line, "segments">): string => segments.map(({ text }) => text).join("");
