import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Area } from "./areas.ts";
import type { NamedMutant } from "./mutant.ts";

/** A mutant by the code that it changes, wherever in its file that stands. */
export type LeftMutant = Pick<NamedMutant, "code" | "mutation">;

/** What became of the mutants of one file. */
export interface Measured {
  /** Of what they were tried with: the file, and all tests of its area. What those import is not looked at. */
  fingerprint: string;
  /** The day on which they were tried. */
  on: string;
  killed: number;
  /** Those that no test killed, equivalent ones included. */
  left: LeftMutant[];
}

/** What was measured, by file. */
export type MeasuredFiles = Record<string, Measured>;

const PLACE = fileURLToPath(new URL("measured.json", import.meta.url));

const matches = (globs: readonly string[]): string[] =>
  [...new Set(globs.flatMap((glob) => globSync(glob)))].toSorted();

/** Returns the files of an area's code. */
export const filesOf = ({ code }: Pick<Area, "code">): string[] => matches(code);

/** Returns what changes with the file, and with each test that is run against its mutants. */
export const fingerprintOf = (file: string, { tests, slowTests }: Pick<Area, "tests" | "slowTests">): string => {
  const hash = createHash("sha256");
  for (const path of [file, ...matches([...tests, ...slowTests])]) hash.update(`${path}\n`).update(readFileSync(path));
  return hash.digest("hex").slice(0, 16);
};

/** Reads what was measured last. */
export const readMeasured = (): MeasuredFiles => JSON.parse(readFileSync(PLACE, "utf8")) as MeasuredFiles;

/** Keeps what was measured, but for files that are no more. */
export const writeMeasured = (measured: MeasuredFiles): void => {
  const kept = Object.entries(measured).filter(([file]) => existsSync(file));
  const sorted = Object.fromEntries(kept.toSorted(([one], [other]) => (one < other ? -1 : 1)));
  writeFileSync(PLACE, `${JSON.stringify(sorted, null, 2)}\n`);
};

/** A file whose mutants are to be tried with the tests of its area. */
export interface Candidate {
  area: Area;
  file: string;
}

/**
 * Returns the files that have changed since they were measured, or whose tests have: those that never were first, then
 * those that were longest ago.
 */
export const changedOf = (candidates: readonly Candidate[], measured: MeasuredFiles): Candidate[] =>
  candidates
    .filter(({ area, file }) => measured[file]?.fingerprint !== fingerprintOf(file, area))
    .toSorted((one, other) => (measured[one.file]?.on ?? "").localeCompare(measured[other.file]?.on ?? ""));
