import { type ParseArgsConfig, parseArgs } from "node:util";
import { errorMessage } from "../services/platform/log.ts";
import { CommandError } from "./command.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;

/** The values of a command's options, and the words beside them: at most `most`. */
export const readArguments = <const Given extends Options>(args: string[], options: Given, most = 1) => {
  const parsed = attempt(() => parseArgs({ args, options, allowPositionals: true }));
  const [argument, ...further] = parsed.positionals;
  const unexpected = parsed.positionals[most];
  if (unexpected !== undefined) throw new CommandError(`"${unexpected}" is one argument too many.`);
  return { values: parsed.values, argument, further };
};

const attempt = <T>(work: () => T): T => {
  try {
    return work();
  } catch (error) {
    // What follows the first sentence is about quoting on the command line, which is seldom what was meant.
    throw new CommandError(`${errorMessage(error).split(". ")[0]?.replace(/\.$/, "")}.`);
  }
};
