import { z } from "zod";
import { Figure, isMissed } from "../figures.ts";

/** How the process of a bench ended, and what it left. */
export interface Ended {
  /** Null when a signal ended it. */
  code: number | null;
  signal: string | null;
  /** The content of the file in which its figures were awaited; undefined when there is none. */
  handedOver: string | undefined;
  /** The end of what it wrote to its standard error. */
  stderr: string;
}

/** What came of one bench. It may have failed after it handed over figures. */
export interface Outcome {
  bench: string;
  figures: Figure[];
  /** Why its figures are not complete, or not to be trusted. */
  failure?: string;
}

const Figures = z.array(Figure).min(1);

/** The figures in what was handed over, or what is wrong with it. */
const read = (handedOver: string): { figures: Figure[]; wrong?: string } => {
  try {
    return { figures: Figures.parse(JSON.parse(handedOver)) };
  } catch (error) {
    return { figures: [], wrong: `handed over what is no list of figures: ${String(error)}` };
  }
};

/** The line that says most: that of an error, or else the last one. */
const mainLine = (stderr: string): string | undefined => {
  const lines = stderr.split("\n").filter((line) => line.trim() !== "");
  return lines.findLast((line) => /^\w*Error\b/.test(line)) ?? lines.at(-1);
};

const failureOf = ({ code, signal, stderr }: Ended, figures: Figure[]): string | undefined => {
  const said = mainLine(stderr);
  const because = said === undefined ? "" : `: ${said}`;
  if (signal !== null) return `ended by ${signal}${because}`;
  if (figures.length === 0) return `ended with code ${code} and without figures${because}`;
  // A bench ends with 1 when a target is missed, and with 0 otherwise.
  const expected = figures.some(isMissed) ? 1 : 0;
  return code === expected ? undefined : `ended with code ${code}, but its figures say ${expected}${because}`;
};

export const outcomeOf = (bench: string, ended: Ended): Outcome => {
  const { figures, wrong } = ended.handedOver === undefined ? { figures: [] } : read(ended.handedOver);
  const failure = wrong ?? failureOf(ended, figures);
  return { bench, figures, ...(failure !== undefined && { failure }) };
};

/** Whether all is as it should be: the bench ran to its end, and no target is missed. */
export const isGood = ({ figures, failure }: Outcome): boolean => failure === undefined && !figures.some(isMissed);
