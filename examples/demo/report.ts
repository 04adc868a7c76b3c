import { styleText } from "node:util";
import { duration } from "../../src/services/notices.ts";
import type { SessionMessage } from "../../test/e2e/lab/transcript.ts";
import { EXPECTED } from "./scenario.ts";
import { OUTCOMES, toWidth } from "./screen.ts";
import { type Lane, type Timeline, taskOf } from "./timeline.ts";

/** A notice as it stands in the agent's session. */
export type Notice = { taskId: string; visible: string; hidden: string };

/** The notices in a session, in order. A visible part belongs to the hidden one that follows it. */
export function noticesIn(messages: SessionMessage[]): Notice[] {
  const texts = messages.flatMap(({ parts }) => parts.filter((part) => part.type === "text"));
  return texts.flatMap((part, index) => {
    const taskId = part.synthetic ? taskOf(part.text) : undefined;
    return taskId === undefined ? [] : [{ taskId, visible: texts[index - 1]?.text ?? "", hidden: part.text }];
  });
}

/** The notices as they are, line by line: what a person sees, and what only the model gets. */
export function noticeLines(notices: Notice[]): string[] {
  const label = (text: string) => `  ${styleText("gray", text.padEnd(15))} `;
  const dim = (text: string) => styleText("gray", text);
  return notices.flatMap(({ visible, hidden }) => {
    const [headline = "", ...seen] = visible.split("\n");
    const [first = "", ...unseen] = hidden.split("\n");
    return [
      label("the person sees") + styleText("bold", headline),
      ...seen.map((line) => label("") + line),
      label("only the model") + dim(first),
      ...unseen.map((line) => label("") + dim(line)),
      "",
    ];
  });
}

/** The table of what became of each task. */
export function tableLines({ tasks }: Timeline, notices: Notice[]): string[] {
  const row = (...cells: string[]) => cells.map((cell, index) => toWidth(cell, WIDTHS[index] ?? 0)).join("  ");
  return [
    styleText("gray", `  ${row("task", "agent", "status", "took", "told", "times")}`),
    ...tasks.map(({ id, name, agent, took = "", end, told: [first = 0] }) => {
      if (!end) return `  ${row(name, agent, "not ended")}`;
      const { sign, style } = OUTCOMES[end.outcome];
      const [task, status] = [row(name, agent), toWidth(`${sign} ${end.outcome}`, WIDTHS[2])];
      const rest = `${toWidth(took, WIDTHS[3])}  ${toWidth(`${duration(first - end.at)} later`, WIDTHS[4])}`;
      return `  ${task}  ${styleText(style, status)}  ${rest}  ${timesTold(id, notices)}`;
    }),
  ];
}

const WIDTHS = [23, 7, 11, 5, 11, 5] as const;

/** What is not as it must be, in words; nothing when each task ended as expected and was told of once. */
export function problemsOf({ tasks }: Timeline, notices: Notice[]): string[] {
  const outcomes = Object.entries(EXPECTED).flatMap(([outcome, count]) => {
    const seen = tasks.filter(({ end }) => end?.outcome === outcome).length;
    return seen === count ? [] : [`${seen} tasks are ${outcome}, not ${count}`];
  });
  return [...outcomes, ...tasks.flatMap((task) => problemsOfTask(task, notices))];
}

function problemsOfTask({ id, name, end }: Lane, notices: Notice[]): string[] {
  const times = timesTold(id, notices);
  if (times !== 1) return [`"${name}" was told ${times} times`];
  const visible = notices.find(({ taskId }) => taskId === id)?.visible ?? "";
  const agrees = end !== undefined && visible.startsWith(OUTCOMES[end.outcome].sign);
  return agrees ? [] : [`the notice of "${name}" does not say ${end?.outcome ?? "that it runs"}: ${visible}`];
}

function timesTold(id: string, notices: Notice[]): number {
  return notices.filter(({ taskId }) => taskId === id).length;
}
