import type { Journal, Walk } from "../machines/task/replay.ts";
import { wrap } from "../services/platform/columns.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { findEvent, positionAfter } from "../services/replay/positions.ts";
import { type CommandContext, CommandError, printJson } from "./command.ts";
import { formatPosition, stopLine } from "./format-position.ts";
import { formatSteps } from "./format-replay.ts";

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
