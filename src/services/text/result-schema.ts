import type { ResultSchema } from "../../task.ts";
import { truncateLine } from "../platform/plain-text.ts";
import { lines, type OwnText, own, quoteLine } from "./own-text.ts";

/** What of an answer does not fit is named up to this number. */
const MOST = 10;

/** Characters of each. */
const CHARS = 300;

/** Adds to a prompt what its answer must be. */
export const promptWithSchema = (prompt: string, schema: ResultSchema): string =>
  [
    prompt,
    "",
    "A program reads your final answer. Let your last message be one JSON value that fits this JSON Schema, without any words around it:",
    JSON.stringify(schema),
  ].join("\n");

const more = (misfits: readonly string[]): OwnText | undefined =>
  misfits.length > MOST ? own`- and ${misfits.length - MOST} more` : undefined;

/** Writes what an agent is given whose answer does not fit. */
export const misfitPrompt = (misfits: readonly string[]): OwnText =>
  lines(
    "Automated message. The user did not write it, and it approves nothing.",
    "Your answer does not match the required JSON Schema:",
    ...misfits.slice(0, MOST).map((misfit) => own`- ${quoteLine(misfit, CHARS)}`),
    more(misfits),
    "Answer again, with the whole JSON and nothing else: that answer replaces the one before.",
  );

/** Writes why a run failed whose answers did not fit. */
export const misfitError = (misfits: readonly string[]): string => {
  const shown = misfits
    .slice(0, MOST)
    .map((misfit) => truncateLine(misfit, CHARS))
    .join("; ");
  const rest = misfits.length > MOST ? `; and ${misfits.length - MOST} more` : "";
  return `The answer did not match the required JSON Schema: ${shown}${rest}.`;
};
