import manifest from "../../package.json" with { type: "json" };
import { type Command, CommandError, EXIT, type ExitCode } from "./command.ts";
import { answerCommand } from "./commands/answer.ts";
import { exportCommand } from "./commands/export.ts";
import { replayCommand } from "./commands/replay.ts";
import { steerCommand } from "./commands/steer.ts";
import { whatIfCommand } from "./commands/whatif.ts";
import type { Terminal } from "./terminal.ts";

const COMMANDS: Readonly<Record<string, Command>> = {
  answer: answerCommand,
  steer: steerCommand,
  replay: replayCommand,
  export: exportCommand,
  whatif: whatIfCommand,
};

const HELP_WORDS: ReadonlySet<string | undefined> = new Set([undefined, "help", "--help", "-h"]);

const NAME_COLUMNS = Math.max(...Object.keys(COMMANDS).map(({ length }) => length));

const HELP = `Usage: opencode-taskchart <command>

${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(NAME_COLUMNS)}  ${summary}`)
  .join("\n")}

opencode-taskchart <command> --help explains a command.`;

const commandNamed = (name: string): Command => {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command) return command;
  throw new CommandError(`There is no command "${name}". Commands: ${Object.keys(COMMANDS).join(", ")}.`);
};

/**
 * Runs a command line (without the program's name), or prints the help or the version.
 * @throws CommandError if there is no such command, or if it fails.
 */
export const runCommand = async ([name, ...args]: string[], terminal: Terminal): Promise<ExitCode> => {
  if (name === "--version") {
    terminal.print(manifest.version);
    return EXIT.ok;
  }
  const [topic] = name === "help" ? args : [];
  if (name === undefined || (HELP_WORDS.has(name) && topic === undefined)) {
    terminal.print(HELP);
    return EXIT.ok;
  }
  const command = commandNamed(topic ?? name);
  if (topic !== undefined || args.includes("--help") || args.includes("-h")) {
    terminal.print(command.help);
    return EXIT.ok;
  }
  return command.run(args, terminal);
};
