import { readFileSync } from "node:fs";
import { errorMessage } from "../services/platform/log.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import type { ExportedFile } from "../services/promises/exported-journal.ts";
import { CommandError } from "./command.ts";

/**
 * Reads an exported journal.
 * @throws CommandError that names the file, and what is wrong with it
 */
export const readExported = <File>(path: string, parse: (text: string) => File | { wrong: string }): File => {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new CommandError(`The file cannot be read: ${errorMessage(error)}.`);
  }
  const read = parse(text);
  if (typeof read === "object" && read !== null && "wrong" in read)
    throw new CommandError(`The file ${path} ${read.wrong}. Use a file written by the command "export".`);
  return read;
};

/** Writes where an exported journal comes from. */
export const originLine = ({ facts }: Pick<ExportedFile, "facts">): string => {
  const text = facts.hasText ? "" : ", without text";
  return `Exported at ${facts.exportedAt} by version ${toSingleLine(facts.plugin)}${text}.`;
};
