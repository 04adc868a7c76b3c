import { type ParseArgsConfig, parseArgs } from "node:util";
import { errorMessage } from "../services/platform/log.ts";
import type { Terminal } from "./terminal.ts";

/** The exit codes of commands. */
export const EXIT = {
  ok: 0,
  /** The replayed journal differs from the stored snapshot. */
  differs: 1,
  /** The command failed: a wrong command line, an unknown task, a file that cannot be read or written. */
  failed: 2,
  /** The journal does not start at the task's launch, so there is nothing to compare. */
  incomplete: 3,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A command of `opencode-taskchart`. */
export interface Command {
  /** A few words for the list of commands. */
  summary: string;
  /** The complete help text. */
  help: string;
  /**
   * Runs the command with the arguments after its name.
   * @throws CommandError if it fails for a reason that the user can act on.
   */
  run(args: string[], terminal: Terminal): ExitCode | Promise<ExitCode>;
}

/** A failure that is shown to the user without a stack. Its message says what was wrong and what to do instead. */
export class CommandError extends Error {
  override name = "CommandError";
}

type OptionTypes = NonNullable<ParseArgsConfig["options"]>;

/**
 * Parses a command's arguments into its options and at most `maxPositionals` positional arguments, the first of which is
 * returned as `argument`.
 * @throws CommandError for an unknown or incomplete option, or for too many arguments.
 */
export const parseArguments = <const Given extends OptionTypes>(args: string[], options: Given, maxPositionals = 1) => {
  const parsed = parse(() => parseArgs({ args, options, allowPositionals: true }));
  const [argument, ...further] = parsed.positionals;
  const unexpected = parsed.positionals[maxPositionals];
  if (unexpected !== undefined) throw new CommandError(`"${unexpected}" is one argument too many.`);
  return { values: parsed.values, argument, further };
};

const parse = <T>(work: () => T): T => {
  try {
    return work();
  } catch (error) {
    // Node's further sentences are about quoting on the command line, which is rarely the problem.
    throw new CommandError(`${errorMessage(error).split(". ")[0]?.replace(/\.$/, "")}.`);
  }
};
