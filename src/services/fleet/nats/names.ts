import type { Queue } from "../bus.ts";
import type { RunName } from "../messages.ts";

/*
 * The names of what a fleet has in NATS: its streams, and the subjects of their messages. Whoever grants rights, grants them
 * by these.
 */

/** The orders that wait for a server, and those that a server has taken and not done. */
export const ORDERS = "TASKCHART_ORDERS";
/** The logs of runs. */
export const RUNS = "TASKCHART_RUNS";
/** Who has what for the time of a lease. */
export const HOLDS = "TASKCHART_HOLDS";
/** How many tasks of a model may be at work in the whole fleet. */
export const LIMITS = "TASKCHART_LIMITS";

const bytes = new TextEncoder();

/** Returns a text as one part of a subject: letters, digits, `_` and `-` as they are, all else as `=` and its code. */
export const token = (text: string): string =>
  text === ""
    ? "="
    : text.replace(/[^A-Za-z0-9_-]/gu, (character) =>
        [...bytes.encode(character)].map((byte) => `=${byte.toString(16).padStart(2, "0")}`).join(""),
      );

/** Returns the text of which `token` made a part of a subject. @throws URIError where it made no such part */
export const textOf = (part: string): string => (part === "=" ? "" : decodeURIComponent(part.replaceAll("=", "%")));

const tokens = (...parts: (string | number)[]): string => parts.map((part) => token(String(part))).join(".");

export const runSubject = ({ home, task, run }: RunName): string => `taskchart.run.${tokens(home, task, run)}`;

/** The subjects of all runs of a home. */
export const runsOf = (home: string): string => `taskchart.run.${tokens(home)}.>`;

const runNamed = ([home, task, run]: string[]): RunName | undefined => {
  if (home === undefined || task === undefined || run === undefined || !/^\d+$/.test(run)) return undefined;
  return { home: textOf(home), task: textOf(task), run: Number(run) };
};

/** Returns the run whose log has this subject; undefined for another subject. */
export const runOf = (subject: string): RunName | undefined => runNamed(subject.split(".").slice(2));

export const orderSubject = ({ pool, priority, key, ...name }: Queue & RunName): string =>
  `taskchart.order.${tokens(pool, priority, key, name.home, name.task, name.run)}`;

/** Returns the pool and the run of the order that has this subject; undefined for another subject. */
export const orderIn = (subject: string): (RunName & { pool: string }) | undefined => {
  const [, , pool, , , ...rest] = subject.split(".");
  const name = runNamed(rest);
  return pool === undefined || !name ? undefined : { pool: textOf(pool), ...name };
};

/** The subjects of the orders of a queue. */
export const ordersOf = ({ pool, priority, key }: Queue): string => `taskchart.order.${tokens(pool, priority, key)}.>`;

/** The name of the consumer by which the servers of a fleet share a queue. */
export const consumerOf = ({ pool, priority, key }: Queue): string =>
  [pool, priority, key].map(String).map(token).join("+");

export const holdSubject = (name: string): string => `taskchart.hold.${tokens(...name.split("."))}`;

/** Returns the run whose hold has this subject; undefined for another subject. */
export const heldRun = (subject: string): RunName | undefined => {
  const [, , what, ...rest] = subject.split(".");
  return what === "run" ? runNamed(rest) : undefined;
};

export const bellSubject = (bell: string): string => `taskchart.bell.${tokens(...bell.split("."))}`;

/** The subject of what a server is asked. */
export const askSubject = (server: string): string => `taskchart.ask.${tokens(server)}`;

/** The streams that a fleet has. */
export const STREAMS = [ORDERS, RUNS, HOLDS, LIMITS] as const;

/** Its newest message says all limits. */
export const LIMITS_SUBJECT = "taskchart.limits";
