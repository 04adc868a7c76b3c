import { styleText } from "node:util";
import { escapeUnprintable } from "../services/platform/plain-text.ts";

export type Style = Parameters<typeof styleText>[0];

/** Where a command's output goes. */
export interface Terminal {
  /** Columns of the terminal; `UNKNOWN_WIDTH` for a file or a pipe. */
  columns: number;
  /** Gives a text a style, where styles are shown. */
  paint(style: Style, text: string): string;
  /** Writes lines. Whatever is in them, a terminal obeys nothing but the styles of `paint`. */
  say(...lines: string[]): void;
}

const UNKNOWN_WIDTH = 100;

/** What begins or ends a style in a terminal, as a piece of its own when a text is split by it. */
const SEQUENCE = new RegExp(`(${String.fromCharCode(0x1b)}\\[[0-9;]+m)`);

/** Plain where nobody looks, and where somebody wants it so: https://no-color.org */
export const openTerminal = (out: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Terminal => {
  const isPainted = out.isTTY && !env.NO_COLOR && env.TERM !== "dumb";
  /** The sequences with which styles begin and end. */
  const styles = new Set<string>();

  const styled = (style: Style, text: string): string => {
    const [begin = "", end = ""] = styleText(style, "\0", { validateStream: false }).split("\0");
    for (const sequence of [begin, end]) styles.add(sequence);
    return begin + text + end;
  };

  const printable = (line: string): string =>
    line
      .split(SEQUENCE)
      .map((piece) => (styles.has(piece) ? piece : escapeUnprintable(piece)))
      .join("");

  return {
    columns: out.columns || UNKNOWN_WIDTH,
    paint: (style, text) => (isPainted ? styled(style, text) : text),
    say: (...lines) => void out.write(`${lines.map(printable).join("\n")}\n`),
  };
};

/** Breaks a text into lines between its words. A word that is longer than a line stays whole. */
export const wrap = (text: string, columns: number): string[] => {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
};
