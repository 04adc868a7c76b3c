import { CommanderError, Command as Program } from "commander";
import manifest from "../../package.json" with { type: "json" };
import { toSingleLine } from "../services/platform/plain-text.ts";
import { type CommandContext, CommandError, EXIT, type ExitCode, PROGRAM } from "./command.ts";
import { applyCommand, diffCommand, discardCommand } from "./commands/changes.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { fleetCommand } from "./commands/fleet.ts";
import { checkCommand, exportCommand } from "./commands/journals.ts";
import { listCommand, watchCommand } from "./commands/list.ts";
import { logsCommand } from "./commands/logs.ts";
import { openCommand } from "./commands/open.ts";
import { replayCommand } from "./commands/replay.ts";
import { receiptCommand, showCommand } from "./commands/show.ts";
import {
  answerCommand,
  cancelCommand,
  continueCommand,
  pauseCommand,
  resumeCommand,
  retryCommand,
  steerCommand,
} from "./commands/step-in.ts";
import { whatIfCommand } from "./commands/whatif.ts";
import { whyCommand } from "./commands/why.ts";
import type { Terminal } from "./terminal.ts";

/** The commands, in the groups of the help text. */
const COMMANDS = {
  "See what goes on:": [listCommand, watchCommand, showCommand, receiptCommand, logsCommand, whyCommand, openCommand],
  "Step in:": [answerCommand, steerCommand, pauseCommand, continueCommand, cancelCommand, resumeCommand, retryCommand],
  "Take what a task changed in its worktree:": [diffCommand, applyCommand, discardCommand],
  "Understand it:": [replayCommand, exportCommand, checkCommand, whatIfCommand, doctorCommand],
  "Several servers:": [fleetCommand],
} as const;

const EXIT_CODES = `
Exit codes:
  0  done
  1  a difference or a problem was found
  2  failed or refused, and nothing was changed
  3  the journal is incomplete
  4  OpenCode is not running, or does not answer`;

const createProgram = (context: CommandContext): Program => {
  const { terminal } = context;
  const program = new Program(PROGRAM)
    .description("See, steer, stop and understand the background tasks of OpenCode.")
    .version(manifest.version, "--version", "print the version")
    .helpOption("-h, --help", "explain the command")
    .helpCommand("help [command]", "explain a command")
    .usage("<command> [options]")
    .addHelpText("after", EXIT_CODES);
  for (const [group, builders] of Object.entries(COMMANDS)) {
    for (const build of builders) program.addCommand((build(context) as unknown as Program).helpGroup(group));
  }
  for (const each of [program, ...program.commands.flatMap((one) => [one, ...one.commands])]) {
    each
      .exitOverride()
      .helpOption("-h, --help", "explain the command")
      .configureHelp({
        helpWidth: terminal.columns,
        subcommandTerm: (command) => command.name(),
        styleTitle: (title) => terminal.style("bold", title),
      })
      .configureOutput({ writeOut: (text) => terminal.print(text.trimEnd()), writeErr: () => undefined });
  }
  return program;
};

/** A message of the parser, as ours read: a sentence, and what to do. */
const problemOf = (program: Program, args: string[], { code, message }: CommanderError): string => {
  const found: Program[] = [program];
  for (const arg of args) {
    const next = found.at(-1)?.commands.find((each) => each.name() === arg);
    if (!next) break;
    found.push(next);
  }
  const help = [...found.map((each) => each.name()), "--help"].join(" ");
  // A command was named that is a group of others.
  if (code === "commander.help") {
    const names = found.at(-1)?.commands.map((each) => each.name()) ?? [];
    return `Say which command of it: ${new Intl.ListFormat("en-GB", { type: "disjunction" }).format(names)}. See ${help}.`;
  }
  const words = toSingleLine(message.replace(/^error: /, ""));
  const sentence = words.charAt(0).toUpperCase() + words.slice(1);
  return `${sentence.replace(/([^.?!)])$/, "$1.")} See ${help}.`;
};

/**
 * Runs a command line (without the program's name), or prints the help or the version.
 * @throws CommandError if there is no such command, or if it fails.
 */
export const runCommand = async (args: string[], terminal: Terminal): Promise<ExitCode> => {
  let code: ExitCode = EXIT.ok;
  const program = createProgram({
    terminal,
    end: (given) => {
      code = given;
    },
  });
  try {
    await program.parseAsync(args.length === 0 ? ["--help"] : args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode !== 0) throw new CommandError(problemOf(program, args, error));
  }
  return code;
};
