import { readFileSync } from "node:fs";
import { relative } from "node:path";
import type { MutantResult } from "@stryker-mutator/api/core";

/** A mutant as the reports name it: the lines that it changes, before and after, each as one line. */
export interface NamedMutant {
  /** Path from the root of the repository. */
  file: string;
  line: number;
  code: string;
  mutation: string;
}

const LONGEST = 160;

const asOneLine = (text: string): string => {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= LONGEST ? line : `${line.slice(0, LONGEST / 2)} … ${line.slice(-LONGEST / 2)}`;
};

/** Names a mutant by the code that it changes, which stays the same where lines above it come and go. */
export const named = ({ fileName, location: { start, end }, replacement }: MutantResult): NamedMutant => {
  const lines = readFileSync(fileName, "utf8")
    .split("\n")
    .slice(start.line - 1, end.line);
  const before = lines[0]?.slice(0, start.column - 1) ?? "";
  const after = lines.at(-1)?.slice(end.column - 1) ?? "";
  return {
    file: relative(process.cwd(), fileName),
    line: start.line,
    code: asOneLine(lines.join("\n")),
    mutation: asOneLine(`${before}${replacement}${after}`),
  };
};
