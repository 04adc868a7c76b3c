import { type ParseArgsConfig, parseArgs } from "node:util";
import { reasonOf } from "../services/log.ts";
import { CommandError } from "./command.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;

/** The values of a command's options, and the one argument that it takes beside them, if there is one. */
export const readArguments = <const Given extends Options>(args: string[], options: Given) => {
  const parsed = attempt(() => parseArgs({ args, options, allowPositionals: true }));
  const [argument, unexpected] = parsed.positionals;
  if (unexpected !== undefined) throw new CommandError(`"${unexpected}" is one argument too many.`);
  return { values: parsed.values, argument };
};

const attempt = <T>(work: () => T): T => {
  try {
    return work();
  } catch (error) {
    // What follows the first sentence is about quoting on the command line, which is seldom what was meant.
    throw new CommandError(`${reasonOf(error).split(". ")[0]?.replace(/\.$/, "")}.`);
  }
};
