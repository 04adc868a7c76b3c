import type { TaskContext } from "../machines/task/events.ts";
import type { Journal, Walk } from "../machines/task/replay.ts";
import { wrap } from "../services/platform/columns.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { type AskedFor, findEvent, type Position, positionAfter } from "../services/replay/positions.ts";
import type { PossibleEvent } from "../services/replay/possible-events.ts";
import { duration } from "../services/text/amounts.ts";
import { type CommandContext, CommandError, printJson } from "./command.ts";
import { describeEffect, fieldsOf, formatSteps, shown, stepRows } from "./format-replay.ts";
import { clockTime, type Terminal } from "./terminal.ts";

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

/** What never changes, or is shown otherwise. */
const HIDDEN = new Set<string>(["facts", "lastRunResult"] satisfies (keyof TaskContext)[]);

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === 0 || value === false || (Array.isArray(value) && value.length === 0);

const contextText = ({ snapshot, at }: Position): string =>
  fieldsOf(snapshot.context, at)
    .filter(([field, value]) => !HIDDEN.has(field) && !isEmpty(value))
    .map(([field, value]) => `${toSingleLine(field)} ${shown(field, value, at)}`)
    .join(", ");

/** A line of a table: what it is about, and what is said of it. */
type Line = [about: string, says: string];

const askedLine =
  (events: readonly { type: string; at: number }[], now: number) =>
  ({ effect, since }: AskedFor): Line => {
    const event = events[since - 1];
    const by = event ? `by event ${since}, ${event.type}, ${duration(now - event.at)} before` : "since the task began";
    return [toSingleLine(describeEffect(effect)), toSingleLine(by)];
  };

const possibleLine =
  (now: number) =>
  ({ which, step }: PossibleEvent): Line => {
    const { event } = step;
    const later = event.at > now ? `at ${clockTime(event.at)}` : "";
    // What the regions raise for each other shows in where they go.
    const led = stepRows(step).filter(({ label }) => label !== "with" && label !== "raises");
    return [
      toSingleLine([event.type, which, later].filter(Boolean).join(" ")),
      led.map(({ label, text }) => `${label} ${text}`).join(" · "),
    ];
  };

const table = (title: string, lines: readonly Line[], nothing: string, terminal: Terminal): string[] => {
  const widest = Math.min(Math.max(0, ...lines.map(([about]) => about.length)), Math.floor(terminal.columns / 2));
  const rows = lines.flatMap(([about, says]) =>
    wrap(says, Math.max(terminal.columns - widest - 4, 20)).map((line, row) => {
      const head = row === 0 ? about.padEnd(widest) : " ".repeat(widest);
      // The arrow stays on the line of the state that it leads to.
      return `  ${head}  ${line.replaceAll("\u00a0", " ")}`;
    }),
  );
  return [terminal.style("bold", title), ...(rows.length > 0 ? rows : [`  ${nothing}`])];
};

/** Formats where a task stood between two events: its state, what had been asked for, and what was possible. */
export const formatPosition = (
  position: Position,
  events: readonly { type: string; at: number }[],
  terminal: Terminal,
): string[] => {
  const { regions, askedFor, possible, at } = position;
  const state = [...Object.entries(regions), ["context", contextText(position)]] as Line[];
  return [
    ...table("State", state, "", terminal),
    "",
    ...table("Asked for", askedFor.map(askedLine(events, at)), "nothing that has no answer yet", terminal),
    "",
    ...table("Possible", possible.map(possibleLine(at)), "nothing", terminal),
  ];
};

/** Writes at which event a replay stops, and which others have its name. */
export const stopLine = ({ steps }: Pick<Walk, "steps">, before: number, numbers: readonly number[]): string => {
  const next = steps[before];
  if (!next) return `After the last of ${steps.length} events.`;
  const others = numbers.filter((number) => number !== before + 1);
  const more = others.length === 0 ? "" : ` Others with that name: ${others.join(", ")}.`;
  return `Before event ${before + 1} of ${steps.length}, ${toSingleLine(next.event.type)}.${more}`;
};

/** Prints where the task stood before an event. */
export const showPosition = (
  walked: Walk,
  { taskId }: Journal,
  until: string,
  { terminal }: CommandContext,
  json: boolean,
) => {
  const found = findEvent(walked, until);
  if ("wrong" in found) throw new CommandError(toSingleLine(found.wrong));
  const { before, numbers } = found;
  const position = positionAfter(walked, before);
  const { regions, snapshot, askedFor, possible, next } = position;
  if (json) {
    const state = { taskId, taken: before, next: next?.event, regions, context: snapshot.context };
    return printJson(terminal, {
      ...state,
      askedFor,
      possible: possible.map(({ which, step }) => ({ which, ...step })),
    });
  }
  const events = walked.steps.map(({ event }) => event);
  terminal.print(
    ...wrap(stopLine(walked, before, numbers), terminal.columns),
    "",
    ...formatPosition(position, events, terminal),
    ...(next ? ["", terminal.style("bold", "Next"), ...formatSteps(walked.steps, terminal, before, before + 1)] : []),
  );
};
