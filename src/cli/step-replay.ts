import type { Walk } from "../machines/task/replay.ts";
import { wrap } from "../services/platform/columns.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { findEvent, positionAfter } from "../services/replay/positions.ts";
import { CommandError } from "./command.ts";
import { formatSteps } from "./format-replay.ts";
import { formatPosition, stopLine } from "./replay-position.ts";
import type { Terminal } from "./terminal.ts";

const HELP = "Enter or n: next event · b: back · u <event>: until that event · s: state · q: quit · h: help";

/** What a line of the input does: where the replay goes on, and what is printed; undefined to end. */
interface Done {
  taken: number;
  lines: string[];
}

/**
 * Goes through a journal event by event, as the lines of the input say: those of a person at a terminal, or of a script.
 * @param begin the event before which it begins; undefined for the first one
 * @param atEnd formats what is said when the last event is taken
 * @throws CommandError where there is no such event, or a script has a line that is no command
 */
export const stepThrough = async (
  walked: Walk,
  begin: string | undefined,
  terminal: Terminal,
  atEnd: () => string[],
): Promise<void> => {
  const { steps } = walked;
  const events = steps.map(({ event }) => event);
  const dim = (text: string) => terminal.style("gray", text);

  /** Takes the events up to that place, or goes back to it. */
  const goTo = (from: number, to: number): Done => ({
    taken: to,
    lines: [...formatSteps(steps, terminal, from, to), ...(to > from && to === steps.length ? ["", ...atEnd()] : [])],
  });

  const help = wrap(HELP, terminal.columns).map(dim);

  const wrong = (words: string): string[] => {
    if (!terminal.isInteractive) throw new CommandError(words);
    return wrap(words, terminal.columns).map((line) => terminal.style("red", line));
  };

  const until = (at: number, named: string): Done => {
    const found =
      named === "" ? { wrong: "Say until which event: its number, its name, or end." } : findEvent(walked, named, at);
    if ("wrong" in found) return { taken: at, lines: wrong(toSingleLine(found.wrong)) };
    const done = goTo(at, found.before);
    return { ...done, lines: [...done.lines, dim(stopLine(walked, found.before, found.numbers))] };
  };

  const obey = (at: number, line: string): Done | undefined => {
    const [word = "", ...rest] = line.trim().split(/\s+/);
    switch (word.toLowerCase()) {
      case "":
      case "n":
      case "next":
        return at < steps.length ? goTo(at, at + 1) : { taken: at, lines: [dim("There are no more events.")] };
      case "b":
      case "back":
        if (at === 0) return { taken: 0, lines: [dim("This is the beginning.")] };
        return { taken: at - 1, lines: [dim(stopLine(walked, at - 1, []))] };
      case "u":
      case "until":
        return until(at, rest.join(" "));
      case "s":
      case "state":
        return { taken: at, lines: [...formatPosition(positionAfter(walked, at), events, terminal), ""] };
      case "q":
      case "quit":
        return undefined;
      case "h":
      case "?":
      case "help":
        return { taken: at, lines: help };
      default:
        return { taken: at, lines: wrong(`There is no command "${toSingleLine(line.trim())}". ${HELP}`) };
    }
  };

  const promptAt = (at: number): string => {
    const next = steps[at]?.event.type;
    return `${terminal.style("bold", `${at}/${steps.length}`)} ${dim(next ? `next ${toSingleLine(next)}` : "the end")} › `;
  };

  const found = begin === undefined ? { before: 0 } : findEvent(walked, begin);
  if ("wrong" in found) throw new CommandError(toSingleLine(found.wrong));
  const input = terminal.openInput();
  try {
    if (terminal.isInteractive) terminal.print(...help, "");
    for (let at = found.before; ; ) {
      const line = await input.read(promptAt(at));
      const done = line === undefined ? undefined : obey(at, line);
      if (!done) return;
      if (done.lines.length > 0) terminal.print(...done.lines);
      at = done.taken;
    }
  } finally {
    input.close();
  }
};
