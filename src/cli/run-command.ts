import manifest from "../../package.json" with { type: "json" };
import { type Command, CommandError, EXIT, type ExitCode } from "./command.ts";
import { answerCommand } from "./commands/answer.ts";
import { exportCommand } from "./commands/export.ts";
import { replayCommand } from "./commands/replay.ts";
import type { Terminal } from "./terminal.ts";

const COMMANDS: Readonly<Record<string, Command>> = {
  answer: answerCommand,
  replay: replayCommand,
  export: exportCommand,
};

const ASKS_HELP: ReadonlySet<string | undefined> = new Set([undefined, "help", "--help", "-h"]);

const NAME = Math.max(...Object.keys(COMMANDS).map(({ length }) => length));

const HELP = `Usage: opencode-taskchart <command>

${Object.entries(COMMANDS)
  .map(([name, { summary }]) => `  ${name.padEnd(NAME)}  ${summary}`)
  .join("\n")}

opencode-taskchart <command> --help says more of one.`;

const commandNamed = (name: string): Command => {
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command) return command;
  throw new CommandError(`There is no command "${name}". Commands: ${Object.keys(COMMANDS).join(", ")}.`);
};

/** Does what a command line asks for. Throws `CommandError` when that cannot be done. */
export const runCommand = async ([name, ...args]: string[], screen: Terminal): Promise<ExitCode> => {
  if (name === "--version") {
    screen.say(manifest.version);
    return EXIT.ok;
  }
  const [topic] = name === "help" ? args : [];
  if (name === undefined || (ASKS_HELP.has(name) && topic === undefined)) {
    screen.say(HELP);
    return EXIT.ok;
  }
  const command = commandNamed(topic ?? name);
  if (topic !== undefined || args.includes("--help") || args.includes("-h")) {
    screen.say(command.help);
    return EXIT.ok;
  }
  return command.run(args, screen);
};
