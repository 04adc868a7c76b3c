import { columnsOf } from "../../src/services/platform/columns.ts";

/** How a cell of a terminal looks. Colours are in the words of CSS; undefined: the terminal's own. */
interface Style {
  color?: string | undefined;
  background?: string | undefined;
  isBold: boolean;
  isDim: boolean;
  isItalic: boolean;
  isUnderlined: boolean;
  isInverse: boolean;
}

const PLAIN: Style = { isBold: false, isDim: false, isItalic: false, isUnderlined: false, isInverse: false };

/** The colours of a terminal that has been told none: those of OpenCode's dark theme. */
const OWN = { color: "#eeeeee", background: "#0a0a0a" };

/** The first 16 colours, as xterm has them. */
const BASIC = [
  ...["#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5"],
  ...["#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff"],
];

const rgb = (red = 0, green = 0, blue = 0): string => `rgb(${red} ${green} ${blue})`;

/** Returns a colour of the palette of 256: 16 basic ones, a cube of 6 × 6 × 6, and 24 greys. */
const indexed = (index = 0): string => {
  const basic = BASIC[index];
  if (basic !== undefined) return basic;
  if (index >= 232) return rgb(...Array<number>(3).fill(8 + 10 * (index - 232)));
  const level = (step: number): number => (step === 0 ? 0 : 55 + 40 * step);
  const cube = index - 16;
  return rgb(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
};

/** Returns the style after a sequence that selects how text is drawn (SGR), such as `1;38;2;250;178;131`. */
const afterSequence = (style: Style, sequence: string): Style => {
  const codes = sequence.split(/[;:]/).map(Number);
  let next = style;
  for (let code = codes.shift(); code !== undefined; code = codes.shift()) {
    const extended = () => (codes.shift() === 2 ? rgb(...codes.splice(0, 3)) : indexed(codes.shift()));
    if (code === 0) next = PLAIN;
    else if (code === 1) next = { ...next, isBold: true };
    else if (code === 2) next = { ...next, isDim: true };
    else if (code === 3) next = { ...next, isItalic: true };
    else if (code === 4) next = { ...next, isUnderlined: true };
    else if (code === 7) next = { ...next, isInverse: true };
    else if (code === 22) next = { ...next, isBold: false, isDim: false };
    else if (code === 23) next = { ...next, isItalic: false };
    else if (code === 24) next = { ...next, isUnderlined: false };
    else if (code === 27) next = { ...next, isInverse: false };
    else if (code === 38) next = { ...next, color: extended() };
    else if (code === 48) next = { ...next, background: extended() };
    else if (code === 39) next = { ...next, color: undefined };
    else if (code === 49) next = { ...next, background: undefined };
    else if (code >= 30 && code <= 37) next = { ...next, color: indexed(code - 30) };
    else if (code >= 40 && code <= 47) next = { ...next, background: indexed(code - 40) };
    else if (code >= 90 && code <= 97) next = { ...next, color: indexed(code - 82) };
    else if (code >= 100 && code <= 107) next = { ...next, background: indexed(code - 92) };
  }
  return next;
};

/** Lines and blocks, which terminals draw themselves so that neighbours touch: place and size of a box in the cell. */
const DRAWN: Readonly<Record<string, string>> = {
  "█": "0 0 / 100% 100%",
  "▀": "0 0 / 100% 50%",
  "▄": "0 100% / 100% 50%",
  "▌": "0 0 / 50% 100%",
  "▐": "100% 0 / 50% 100%",
  "│": "50% 0 / 1px 100%",
  "┃": "50% 0 / 3px 100%",
  "╹": "50% 0 / 3px 50%",
  "╻": "50% 100% / 3px 50%",
  "─": "0 50% / 100% 1px",
  "━": "0 50% / 100% 3px",
  "■": "50% 50% / 7px 7px",
  "⬝": "50% 50% / 3px 3px",
};

const escaped = (text: string): string => text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);

/** Writes text of one style, as wide as its cells, whatever font has its characters. */
const cells = (text: string, style: Style): string => {
  const { color = OWN.color, background = OWN.background } = style;
  const [front, back] = style.isInverse ? [background, color] : [color, background];
  const box = DRAWN[text];
  const drawn = box === undefined ? "" : `linear-gradient(${front}, ${front}) ${box} no-repeat `;
  const css = [
    `width:${columnsOf(text)}ch`,
    `color:${front}`,
    `background:${drawn}${back}`,
    ...(style.isBold ? ["font-weight:bold"] : []),
    ...(style.isDim ? ["opacity:0.6"] : []),
    ...(style.isItalic ? ["font-style:italic"] : []),
    ...(style.isUnderlined ? ["text-decoration:underline"] : []),
  ];
  return `<span style="${css.join(";")}">${box === undefined ? escaped(text) : ""}</span>`;
};

/** Cuts a text into what one span holds: ASCII in a row, and any other character alone. */
const pieces = (text: string): string[] => text.match(/[ -~]+|[^ -~]\p{M}*/gu) ?? [];

/**
 * Writes a page that looks like a terminal.
 * @param captured the screen's lines with their colours, as `tmux capture-pane -e` prints them
 */
export const terminalPage = (captured: string): string => {
  let style = PLAIN;
  const rows = captured
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => {
      const [start = "", ...styled] = line.split("\u001b[");
      const first = pieces(start).map((text) => cells(text, style));
      const rest = styled.flatMap((part) => {
        const end = part.indexOf("m");
        style = afterSequence(style, part.slice(0, end));
        return pieces(part.slice(end + 1)).map((text) => cells(text, style));
      });
      return `<div>${[...first, ...rest].join("")}</div>`;
    });
  return `<!doctype html><meta charset="utf-8"><title>A terminal</title><style>
    body { margin: 0; background: ${OWN.background}; }
    main { display: inline-block; padding: 8px; font: 14px/18px "DejaVu Sans Mono", monospace; }
    div { height: 18px; white-space: pre; display: flex; }
    span { flex: none; height: 18px; }
  </style><main>${rows.join("\n")}</main>`;
};
