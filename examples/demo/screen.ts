import { styleText } from "node:util";
import { duration } from "../../src/services/text/amounts.ts";
import type { Lane, Timeline } from "./timeline.ts";

/** Where the timeline is shown. */
export type Screen = {
  /** Says what is being done before there is a timeline to show. */
  announce(text: string): void;
  /** Shows how things stand at this time, in epoch milliseconds. */
  show(timeline: Timeline, now: number): void;
  /** Gives the terminal back. */
  close(): void;
};

type Style = Parameters<typeof styleText>[0];

/** The sign of an outcome, the same as in the plugin's notices, and its colour. */
export const OUTCOMES = {
  completed: { sign: "✓", style: "green" },
  error: { sign: "✗", style: "red" },
  cancelled: { sign: "⊘", style: "yellow" },
} as const satisfies Record<string, { sign: string; style: Style }>;

/** The columns of the terminal; 80 for a file or a pipe. */
export const columnsOf = (out: NodeJS.WriteStream): number => out.columns ?? 80;

/** Cuts a text, or fills it up, to exactly that many columns. */
export const toWidth = (text: string, columns: number): string =>
  (text.length > columns ? `${text.slice(0, Math.max(0, columns - 1))}…` : text).padEnd(columns);

/** What a row is called. */
export function labelOf({ name, run, isForked }: Lane): string {
  if (run > 0) return `${name}, resumed`;
  return isForked ? `${name}, forked` : name;
}

/** A screen that redraws in place on a terminal with room for it, and prints one line per change everywhere else. */
export function openScreen(out: NodeJS.WriteStream): Screen {
  const drawable = out.isTTY && process.env.TERM !== "dumb" && out.columns > 62 && out.rows > 10;
  return drawable ? drawing(out) : printing(out);
}

function printing(out: NodeJS.WriteStream): Screen {
  const shown = new Map<string, string>();
  return {
    announce: (text) => out.write(`  ${text}\n`),
    show({ agent, tasks }, now) {
      for (const lane of [agent, ...tasks]) {
        const label = labelOf(lane);
        if (shown.get(label) === lane.doing) continue;
        shown.set(label, lane.doing);
        const seconds = `${Math.max(0, (now - agent.startedAt) / 1000).toFixed(1)}s`.padStart(7);
        out.write(`${seconds}  ${signOf(lane).sign} ${toWidth(label, 25)} ${lane.doing}\n`);
      }
    },
    close: () => undefined,
  };
}

function drawing(out: NodeJS.WriteStream): Screen {
  let height = 0;
  const restart = () => {
    out.write("\x1b[2J\x1b[H");
    height = 0;
  };
  // A new width folds the old lines, and nobody knows any more where they begin.
  out.on("resize", restart).write("\x1b[?25l");
  return {
    announce: (text) => out.write(`  ${text}`),
    show(timeline, now) {
      const lines = frame(timeline, now, columnsOf(out) - 1);
      const up = height > 0 ? `\x1b[${height}A` : "";
      // Between these two marks a terminal that knows them shows nothing half done.
      out.write(`\x1b[?2026h${up}${lines.map((line) => `\r${line}\x1b[K\n`).join("")}\x1b[?2026l`);
      height = lines.length;
    },
    close() {
      out.off("resize", restart).write("\x1b[?25h");
    },
  };
}

/** What the bars show at least, in milliseconds; they shrink when it takes longer. */
const SPAN = 12_000;

const LEGEND = "    ─ thinks  ━ uses a tool  · waits   ✓ ✗ ⊘ ended; in the agent's line: delivered";

function frame({ agent, tasks }: Timeline, now: number, columns: number): string[] {
  const words = Math.max(17, Math.floor(columns * 0.22));
  const width = Math.max(8, columns - 37 - words);
  const cell = Math.max(SPAN, now - agent.startedAt) / width;
  const scale = { zero: agent.startedAt, cell, width, now };
  const row = (lane: Lane, marks: Mark[]) => {
    const { sign, style } = signOf(lane);
    const time = (lane.took ?? duration((lane.end?.at ?? now) - lane.startedAt)).padStart(6);
    const doing = styleText(lane.end ? style : "reset", toWidth(lane.doing, words));
    return `  ${styleText(style, sign)} ${toWidth(labelOf(lane), 23)} ${barOf(lane, marks, scale)} ${time}  ${doing}`;
  };
  const deliveries = marksOf(tasks, ({ delivered }) => delivered);
  const rows = tasks.map((task) =>
    row(
      task,
      marksOf([task], ({ end }) => (end ? [end.at] : [])),
    ),
  );
  const dim = (line: string) => styleText("gray", toWidth(line, columns));
  return [row(agent, deliveries), ...rows, dim(" ".repeat(28) + axis(scale)), "", dim(LEGEND)];
}

type Scale = { zero: number; cell: number; width: number; now: number };
type Mark = { at: number; sign: string; style: Style };

const STROKES = {
  tool: { stroke: "━", style: "cyan" },
  model: { stroke: "─", style: "reset" },
  none: { stroke: "·", style: "gray" },
} as const;

/** A lane as a bar: one character for each stretch of time, and the marks on top. */
function barOf(lane: Lane, marks: Mark[], { zero, cell, width, now }: Scale): string {
  const cells = Array.from({ length: width }, (_, index) => {
    const from = zero + index * cell;
    if (from + cell <= lane.startedAt || from > (lane.end?.at ?? now)) return " ";
    const present = lane.spans.filter((span) => span.from < from + cell && (span.to ?? now) > from);
    const kind = present.some((span) => span.kind === "tool") ? "tool" : (present[0]?.kind ?? "none");
    return styleText(STROKES[kind].style, STROKES[kind].stroke);
  });
  let free = 0;
  for (const { at, sign, style } of marks) {
    // Two marks at the same time stand side by side.
    const index = Math.min(Math.max(Math.floor((at - zero) / cell), free), width - 1);
    cells[index] = styleText(style, sign);
    free = index + 1;
  }
  return cells.join("");
}

function marksOf(tasks: Lane[], timesOf: (task: Lane) => number[]): Mark[] {
  const marks = tasks.flatMap((task) => timesOf(task).map((at) => ({ at, ...signOf(task) })));
  return marks.sort((a, b) => a.at - b.at);
}

function axis({ cell, width }: Scale): string {
  const step = cell * width > 20_000 ? 10 : 2;
  let line = "";
  for (let second = 0; ; second += step) {
    const label = `${second}s`;
    const column = Math.round((second * 1000) / cell);
    if (column + label.length > width) return line;
    line = line.padEnd(column) + label;
  }
}

function signOf({ end }: Lane): { sign: string; style: Style } {
  return end ? OUTCOMES[end.outcome] : { sign: "▸", style: "cyan" };
}
