import { styleText } from "node:util";
import { duration } from "../../src/services/text/amounts.ts";
import type { SessionMessage } from "../../test/e2e/lab/transcript.ts";
import { type Notice, noticesOf } from "./notice.ts";
import { EXPECTED } from "./scenario.ts";
import { labelOf, OUTCOMES, toWidth } from "./screen.ts";
import type { Lane, Timeline } from "./timeline.ts";

/** The notices in a session, in order. */
export function noticesIn(messages: SessionMessage[]): Notice[] {
  return messages.flatMap(({ parts }) => {
    const texts = parts.filter((part) => part.type === "text");
    const visible = texts.flatMap(({ synthetic, text }) => (synthetic ? [] : text));
    return texts.flatMap(({ synthetic, text }) => (synthetic ? noticesOf(visible, text) : []));
  });
}

/** The notices as they are, line by line: what a person sees, and what only the model gets. */
export function noticeLines(notices: Notice[]): string[] {
  const label = (text: string) => `  ${styleText("gray", text.padEnd(15))} `;
  const dim = (text: string) => styleText("gray", text);
  return notices.flatMap(({ visible, hidden }, index) => {
    const [headline = "", ...seen] = visible.split("\n");
    const [first = "", ...unseen] = hidden.split("\n");
    const toPerson = [label("the person sees") + styleText("bold", headline), ...seen.map((line) => label("") + line)];
    // The notices of one message share their hidden text.
    if (notices[index + 1]?.hidden === hidden) return toPerson;
    return [...toPerson, label("only the model") + dim(first), ...unseen.map((line) => label("") + dim(line)), ""];
  });
}

/** Returns the table of how each run ended. */
export function tableLines({ tasks }: Timeline, notices: Notice[]): string[] {
  const row = (...cells: string[]) => cells.map((cell, index) => toWidth(cell, WIDTHS[index] ?? 0)).join("  ");
  return [
    styleText("gray", `  ${row("task", "agent", "status", "took", "delivered", "times")}`),
    ...tasks.map((task) => {
      const { agent, took = "", end, delivered } = task;
      if (!end) return `  ${row(labelOf(task), agent, "not ended")}`;
      const { sign, style } = OUTCOMES[end.outcome];
      const [who, status] = [row(labelOf(task), agent), toWidth(`${sign} ${end.outcome}`, WIDTHS[2])];
      const later = `${duration((delivered[0] ?? end.at) - end.at)} later`;
      const rest = `${toWidth(took, WIDTHS[3])}  ${toWidth(later, WIDTHS[4])}`;
      return `  ${who}  ${styleText(style, status)}  ${rest}  ${noticesAbout(task, notices).length}`;
    }),
  ];
}

const WIDTHS = [23, 7, 11, 5, 11, 5] as const;

/** Returns what went wrong, in words; nothing when each run ended as expected and was delivered once. */
export function problemsOf({ tasks }: Timeline, notices: Notice[]): string[] {
  const counts = Object.entries(EXPECTED).flatMap(([what, count]) => {
    const seen = tasks.filter((task) => isWhat(task).includes(what)).length;
    return seen === count ? [] : [`${seen} runs are ${what}, not ${count}`];
  });
  return [...counts, ...tasks.flatMap((task) => problemsOfRun(task, notices))];
}

function isWhat({ end, isForked, run }: Lane): string[] {
  return [end?.outcome ?? "running", isForked ? "forked" : "", run > 0 ? "resumed" : ""];
}

function problemsOfRun(task: Lane, notices: Notice[]): string[] {
  const own = noticesAbout(task, notices);
  const [notice] = own;
  if (!notice || own.length > 1) return [`"${labelOf(task)}" was delivered ${own.length} times`];
  const agrees = task.end !== undefined && notice.visible.startsWith(OUTCOMES[task.end.outcome].sign);
  const outcome = task.end?.outcome ?? "that it is running";
  return agrees ? [] : [`the notice of "${labelOf(task)}" does not say ${outcome}: ${notice.visible}`];
}

function noticesAbout({ id, run }: Lane, notices: Notice[]): Notice[] {
  return notices.filter((notice) => notice.taskId === id && notice.run === run);
}
