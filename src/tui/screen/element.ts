// Without JSX: it would need a compiler of its own, for a screen of three kinds of elements.
import type { TuiThemeCurrent } from "@opencode-ai/plugin/tui";
import { type BaseRenderable, bold, fg, StyledText, TextRenderable } from "@opentui/core";
import { createComponent, createElement, effect, insert, setProp } from "@opentui/solid";
import { Index, type JSX } from "solid-js";
import type { Line, Segment, Tone } from "../model/line.ts";

/** What OpenCode draws. Solid's types know the elements of browsers only. */
export type View = JSX.Element;

/** Properties of an element by name: values, or functions that are called again when what they read changes. */
type Properties = Record<string, unknown>;

/** Creates an element of the terminal with these properties and children, as JSX would. */
export const element = (tag: "box" | "text" | "input", properties: Properties, ...children: readonly View[]): View => {
  const node = createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function" && !name.startsWith("on"))
      effect<unknown>((before) => setProp(node, name, value(), before));
    else setProp(node, name, value);
  }
  for (const child of children) insert(node, child);
  return asView(node);
};

const asView = (node: BaseRenderable): View => node as unknown as View;

type Theme = () => TuiThemeCurrent;

const COLORS: Record<Tone, keyof TuiThemeCurrent> = {
  text: "text",
  muted: "textMuted",
  warning: "warning",
  error: "error",
  success: "success",
  accent: "accent",
};

const styled = (segments: readonly Segment[], theme: TuiThemeCurrent): StyledText =>
  new StyledText(
    segments.map(({ text, tone, bold: isBold }) => {
      const chunk = fg(theme[COLORS[tone]] as TuiThemeCurrent["text"])(text);
      return isBold ? bold(chunk) : chunk;
    }),
  );

/** Draws one line, which is never wrapped. `onClick` is called with the task that it is about. */
export const lineView = (line: () => Line, theme: Theme, onClick?: (taskId: string) => void): View => {
  const node = createElement("text");
  if (!(node instanceof TextRenderable)) throw new Error("OpenCode draws texts with something else than expected.");
  node.wrapMode = "none";
  effect(() => {
    node.content = styled(line().segments, theme());
  });
  if (onClick) {
    node.onMouseUp = () => {
      const { taskId } = line();
      if (taskId !== undefined) onClick(taskId);
    };
  }
  return asView(node);
};

/** Draws lines below each other. Those that stay are kept, and only their texts change. */
export const linesView = (lines: () => readonly Line[], theme: Theme, onClick?: (taskId: string) => void): View =>
  element(
    "box",
    { flexDirection: "column", flexShrink: 0 },
    asView(
      createComponent(Index as unknown as (props: object) => BaseRenderable, {
        get each() {
          return lines();
        },
        children: (line: () => Line) => lineView(line, theme, onClick),
      }),
    ),
  );
