import { cut } from "../../services/platform/columns.ts";
import { codeLine } from "../../services/platform/plain-text.ts";
import { type DiffLine, readDiff } from "../../services/text/diff.ts";
import { cutText, type Line, muted, type Segment, spread, type Tone, wrapped } from "./line.ts";
import { type Key, MOVES } from "./list-state.ts";

/** A text that a person reads, and may scroll, with what can be chosen below it. */
export interface Page {
  title: string;
  /** Its lines, for a screen of so many columns. */
  body(columns: number): Line[];
  /** What can be chosen, the harmless first: `enter` takes the one that is selected, and at first that is this one. */
  choices: readonly [string, ...string[]];
}

/** Where a person is on a page. */
export interface PageState {
  /** The first line of the body that is shown. */
  top: number;
  /** The place of the choice that is selected. */
  selected: number;
}

/** What fits on the screen, and how much there is. */
interface PageSize {
  /** Lines of the body. */
  lines: number;
  /** Those of them that are shown at once. */
  rows: number;
  choices: number;
}

export const FIRST: PageState = { top: 0, selected: 0 };

const SIDEWAYS: Readonly<Record<string, number>> = { left: -1, right: 1, tab: 1, h: -1, l: 1 };

/** Returns where the person is after a key, or that the selected choice is taken; undefined where the key is of no use. */
export const afterPageKey = (
  state: PageState,
  { name, ctrl, meta }: Pick<Key, "name" | "ctrl" | "meta">,
  { lines, rows, choices }: PageSize,
): PageState | "taken" | undefined => {
  if (ctrl || meta) return undefined;
  if (name === "return") return "taken";
  const move = MOVES[name];
  // Where there is nothing to scroll, up and down lead from choice to choice, too.
  const aside = SIDEWAYS[name] ?? (lines <= rows && move !== undefined ? Math.sign(move) : undefined);
  if (aside !== undefined) return { ...state, selected: Math.min(choices - 1, Math.max(0, state.selected + aside)) };
  if (move === undefined) return undefined;
  return { ...state, top: Math.min(Math.max(0, lines - rows), Math.max(0, state.top + move)) };
};

const choiceSegments = (choices: readonly string[], selected: number): Segment[] =>
  choices.map((choice, place) => {
    const isSelected = place === selected;
    return { text: `${isSelected ? "›" : " "} ${choice}   `, tone: isSelected ? "accent" : "text", bold: isSelected };
  });

/** Writes a page: its title, as much of its text as fits, and what can be chosen. */
export const pageLines = (
  { title, choices }: Page,
  body: readonly Line[],
  { top, selected }: PageState,
  { columns, rows }: { columns: number; rows: number },
): Line[] => {
  const isLong = body.length > rows;
  const place = isLong ? [muted(`${top + 1}–${Math.min(body.length, top + rows)} of ${body.length}`)] : [];
  const keys = [isLong ? "↑↓ scroll" : "", choices.length > 1 ? "←→ choose" : "", "enter take it", "esc close"];
  return [
    { segments: spread([], { text: title, tone: "text", bold: true }, place, columns) },
    { segments: [] },
    ...body.slice(top, top + rows),
    { segments: [] },
    { segments: choiceSegments(choices, selected) },
    { segments: [muted(keys.filter(Boolean).join("  "))] },
  ];
};

/** Lines of the page that are not of its text. */
export const FRAME_LINES = 5;

/** Breaks a text into lines: what is indented is code, and is cut where it does not fit. */
export const textLines = (text: string, columns: number): Line[] =>
  text.split("\n").flatMap((line): Line[] => {
    if (/^\s+\S/.test(line)) return [{ segments: [muted(cut(codeLine(line), columns))] }];
    const broken = line.trim() === "" ? [""] : wrapped(line, columns);
    return broken.map((part) => ({ segments: part === "" ? [] : [{ text: part, tone: "text" }] }));
  });

const TONES: Readonly<Record<DiffLine["kind"], Tone>> = {
  ...{ added: "success", removed: "error", same: "text", hunk: "accent", note: "muted" },
};

const SIGNS: Readonly<Record<DiffLine["kind"], string>> = { added: "+", removed: "-", same: " ", hunk: "", note: "" };

/** Writes what was changed, file by file. */
export const diffLines = (diff: string, columns: number): Line[] =>
  readDiff(diff).flatMap(({ path, change, lines }): Line[] => [
    { segments: [] },
    {
      segments: [
        { text: cutText(path, columns), tone: "text", bold: true },
        ...(change === undefined ? [] : [muted(` (${change})`)]),
      ],
    },
    ...lines.map(({ kind, text }): Line => {
      const line = `${SIGNS[kind]}${text}`;
      return { segments: line === "" ? [] : [{ text: cut(line, columns), tone: TONES[kind] }] };
    }),
  ]);
