/*
 * How wide a text is, without a browser: by the widths of DejaVu Sans, which is wider than the fonts that are preferred to it. In
 * hundredths of the font's size, for the characters from the space to the tilde.
 */

const REGULAR = [
  32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84,
  84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79, 60, 79, 69, 63, 61, 73, 68, 99, 69, 61,
  69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59,
  82, 59, 59, 52, 64, 34, 64, 84,
];

const BOLD = [
  35, 46, 52, 84, 70, 100, 87, 31, 46, 46, 52, 84, 38, 42, 38, 37, 70, 70, 70, 70, 70, 70, 70, 70, 70, 70, 40, 40, 84,
  84, 84, 58, 100, 77, 76, 73, 83, 68, 68, 82, 84, 37, 37, 77, 64, 100, 84, 85, 73, 85, 77, 72, 68, 81, 77, 110, 77, 72,
  73, 46, 37, 46, 84, 50, 50, 67, 72, 59, 72, 68, 44, 72, 71, 34, 34, 67, 34, 104, 71, 69, 72, 72, 49, 60, 48, 71, 65,
  92, 65, 65, 58, 71, 37, 71, 84,
];

/** Any other character, such as an arrow, counts as wide as a letter m. */
const OTHER = 100;

export interface Font {
  /** In the units of the picture. */
  size: number;
  isBold?: boolean;
}

export const widthOf = (text: string, { size, isBold = false }: Font): number =>
  [...text].reduce((sum, letter) => sum + ((isBold ? BOLD : REGULAR)[letter.charCodeAt(0) - 32] ?? OTHER), 0) *
  (size / 100);

/** Breaks a text at its spaces into lines that are at most so wide. A word that is wider has a line of its own. */
export const linesOf = (text: string, width: number, font: Font): string[] => {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const longer = lines.length > 0 ? `${lines.at(-1)} ${word}` : word;
    if (lines.length > 0 && widthOf(longer, font) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
};
