import { placed, textIn } from "../../scripts/marked-place.ts";
import { benches } from "./benches.ts";
import { cellsOf, markdownTable } from "./markdown.ts";
import { BENCH, FAILED, HEAD, MEASURED, TARGET, VERDICT, WHAT } from "./rows.ts";

/** How many targets are met, and each that is not. */
export const summaryOf = (rows: readonly (readonly string[])[]): string => {
  const having = (verdict: string) => rows.filter((row) => row[VERDICT] === verdict);
  const [met, missed, failed] = [having("met"), having("MISSED"), having(FAILED)];
  const lines = [`${met.length} of ${met.length + missed.length} targets are met.`];
  if (missed.length > 0) lines.push("", "Not met:", "");
  for (const row of missed) {
    lines.push(`- ${row[BENCH]}, ${row[WHAT]}: ${row[MEASURED]}, and the target is ${row[TARGET]}`);
  }
  if (failed.length > 0) lines.push("", "Failed, so that figures are missing:", "");
  for (const row of failed) lines.push(`- ${row[BENCH]}: ${row[WHAT]}`);
  return lines.join("\n");
};

/** Puts rows into the page: those of a bench replace its last ones, and benches that did not run keep theirs. */
export const withRows = (page: string, rows: readonly (readonly string[])[]): string => {
  const old = cellsOf(textIn(page, "table"));
  const merged = benches.flatMap(({ name }) => {
    const ofBench = (row: readonly string[]) => row[BENCH] === name;
    return rows.some(ofBench) ? rows.filter(ofBench) : old.filter(ofBench);
  });
  return placed(placed(page, "table", markdownTable(HEAD, merged)), "summary", summaryOf(merged));
};
