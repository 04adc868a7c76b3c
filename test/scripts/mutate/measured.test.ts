import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { areas } from "../../../scripts/mutate/areas.ts";
import { type Candidate, changedOf, filesOf, fingerprintOf, type Measured } from "../../../scripts/mutate/measured.ts";

/** An area of two files with a quick and a slow test. */
const setUp = () => {
  const folder = mkdtempSync(join(tmpdir(), "taskchart-mutate-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  for (const name of ["a.ts", "b.ts", "quick.test.ts", "slow.test.ts"]) write(name, "1");
  const area = {
    ...{ name: "an area", code: [join(folder, "[ab].ts")], goal: 1 },
    ...{ tests: [join(folder, "quick*")], slowTests: [join(folder, "slow*")] },
  };
  const candidates: Candidate[] = filesOf(area).map((file) => ({ area, file }));
  const measuredOn = (...days: string[]): Record<string, Measured> =>
    Object.fromEntries(
      days.map((on, index) => {
        const file = candidates[index]?.file ?? "";
        return [file, { fingerprint: fingerprintOf(file, area), on, killed: 1, left: [] }];
      }),
    );
  const changed = (measured: Record<string, Measured>) =>
    changedOf(candidates, measured).map(({ file }) => file.slice(folder.length + 1));
  return { write, measuredOn, changed };
};

test("a file is tried again once it has changed", () => {
  const { write, measuredOn, changed } = setUp();
  const measured = measuredOn("2026-01-01", "2026-01-01");
  expect(changed(measured)).toEqual([]);
  write("b.ts", "2");
  expect(changed(measured)).toEqual(["b.ts"]);
});

test("each area has code and quick tests, and no file is of two areas", () => {
  const files = areas.flatMap(filesOf);
  expect(new Set(files).size).toBe(files.length);
  for (const { code, tests } of areas)
    for (const globs of [code, tests]) expect(filesOf({ code: globs })).not.toEqual([]);
});
