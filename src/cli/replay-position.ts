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
