import stringWidth from "string-width";

/** Returns how many columns a line takes on a screen: East Asian characters and emoji take two, combining ones none. */
export const columnsOf = (line: string): number => stringWidth(line);

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Cuts a line to at most that many columns; where something is left out, it ends with `…`. */
export const cut = (line: string, columns: number): string => {
  if (columnsOf(line) <= columns) return line;
  let kept = "";
  let used = 1;
  for (const { segment } of graphemes.segment(line)) {
    used += columnsOf(segment);
    if (used > columns) break;
    kept += segment;
  }
  return columns < 1 ? "" : `${kept.trimEnd()}…`;
};

/**
 * Wraps a text between words into lines of at most that many columns, and at most `most` lines: the last one has the rest. A
 * word that is longer than a line, such as a path, is not broken, so that it can be copied.
 */
export const wrap = (text: string, columns: number, most = Number.POSITIVE_INFINITY): string[] => {
  const lines: string[] = [];
  let line = "";
  let used = 0;
  for (const word of text.split(" ")) {
    // Each word is measured once: a conversation has many.
    const width = columnsOf(word);
    if (line !== "" && used + 1 + width > columns && lines.length + 1 < most) {
      lines.push(line);
      line = word;
      used = width;
    } else {
      used = line === "" ? width : used + 1 + width;
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
};
