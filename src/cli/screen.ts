import { styleText } from "node:util";

export type Style = Parameters<typeof styleText>[0];

/** Where a command's output goes. */
export interface Screen {
  /** Columns of the terminal; `UNKNOWN_WIDTH` for a file or a pipe. */
  columns: number;
  /** Gives a text a style, where styles are shown. */
  paint(style: Style, text: string): string;
  say(...lines: string[]): void;
}

const UNKNOWN_WIDTH = 100;

/** Plain where nobody looks, and where somebody wants it so: https://no-color.org */
export const openScreen = (out: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Screen => {
  const isPainted = out.isTTY && !env.NO_COLOR && env.TERM !== "dumb";
  return {
    columns: out.columns || UNKNOWN_WIDTH,
    paint: (style, text) => (isPainted ? styleText(style, text, { validateStream: false }) : text),
    say: (...lines) => void out.write(`${lines.join("\n")}\n`),
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
