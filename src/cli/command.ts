// commander reads the command line, so that options, help and mistakes are handled as people know it from other programs.
import { basename } from "node:path";
import { Command, Option } from "@commander-js/extra-typings";
import { toSingleLine } from "../services/platform/plain-text.ts";
import { shellCommand } from "../services/text/request-text.ts";
import type { Terminal } from "./terminal.ts";

export const EXIT = {
  ok: 0,
  /** The command did its work, and found something: `replay` a difference, `check` a broken promise, `doctor` a problem, `fleet status` no fleet. */
  found: 1,
  /** The command failed or was refused, and nothing was changed: a wrong command line, an unknown task, a refusal. */
  failed: 2,
  /** The journal does not start at the task's launch, so there is nothing to compare. */
  incomplete: 3,
  /** OpenCode is not running, or does not answer; with `fleet`, the NATS server. */
  unreachable: 4,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A failure that is shown to the user without a stack. Its message says what was wrong and what to do instead. */
export class CommandError extends Error {
  override name = "CommandError";
  readonly code: ExitCode;

  constructor(message: string, code: ExitCode = EXIT.failed) {
    super(message);
    this.code = code;
  }
}

export interface CommandContext {
  terminal: Terminal;
  /** Sets the exit code; the default is `EXIT.ok`. */
  end(code: ExitCode): void;
}

export const PROGRAM = "opencode-taskchart";

/**
 * How this program was called, so that suggested command lines work in any terminal: by its name where that was found in
 * the PATH, else by its file.
 */
export const CALLED_AS =
  basename(process.argv[1] ?? PROGRAM) === PROGRAM ? PROGRAM : shellCommand(process.argv[1] ?? PROGRAM);

/** The explanation of an argument that names a task. */
export const TASK_ID = 'the task\'s id; its beginning will do, with or without "ses_"';

const COMMON = "Options of all commands:";

/** Adds the option that every command has. */
export const withJson = (command: Command) =>
  command.addOption(new Option("--json", "print JSON instead, as docs/command.md describes").helpGroup(COMMON));

/** Creates a command on the tasks of this machine. `summary` is its line in the list of commands. */
export const command = <Name extends string>(name: Name, summary: string, description = `${sentence(summary)}.`) =>
  withJson(new Command(name).summary(summary).description(description)).addOption(
    new Option("--data <folder>", "the plugin's data folder (default: where OpenCode keeps it)").helpGroup(COMMON),
  );

const sentence = (summary: string): string => summary.charAt(0).toUpperCase() + summary.slice(1);

/** Formats the examples at the end of a help text: each a command line without the program's name, and what it does. */
export const examples = (...lines: [line: string, does: string][]): string => {
  const width = Math.max(...lines.map(([line]) => line.length));
  const shown = lines.map(([line, does]) => `  ${PROGRAM} ${line.padEnd(width)}  ${does}`);
  return `\n${lines.length === 1 ? "Example" : "Examples"}:\n${shown.join("\n")}`;
};

/** Returns the id by which a task is looked up: "ses_" may be left out. */
export const taskIdOf = (given: string): string => {
  const id = given.trim();
  if (id === "") throw new CommandError("The id of a task must not be empty.");
  return id.includes("_") ? id : `ses_${id}`;
};

/** Joins the words of a prompt, which need no quotes. */
export const promptOf = (words: string[], what: string): string => {
  const prompt = words.join(" ").trim();
  if (prompt === "") throw new CommandError(`The ${what} must not be empty.`);
  return prompt;
};

export const printJson = ({ print }: Terminal, value: unknown): void =>
  print(...JSON.stringify(value, undefined, 2).split("\n"));

/** Names a task in a sentence: by its id and what it is about. */
export const named = ({ sessionID, description }: { sessionID: string; description: string }): string =>
  `${toSingleLine(sessionID)} "${toSingleLine(description)}"`;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** What a help text says of durations. */
export const DURATION = "A duration is a number with ms, s, m, h or d: 90s, 10m, 24h, 7d.";

/** Reads a duration as a person writes it. Returns milliseconds. @throws CommandError that names the option */
export const readDuration = (option: string, text: string): number => {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const ms = Number(number) * (UNITS[unit] ?? Number.NaN);
  if (ms > 0) return ms;
  throw new CommandError(`--${option} takes a duration such as 10m or 24h, not "${toSingleLine(text)}".`);
};
