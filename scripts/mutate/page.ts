import { placed } from "../marked-place.ts";
import type { Area } from "./areas.ts";
import { equivalentMutants } from "./equivalent-mutants.ts";
import { filesOf, type MeasuredFiles } from "./measured.ts";
import { type Score, type Survivor, scoreOf, shareOf } from "./score.ts";

const HEAD = ["| code | killed | survived | equivalent | score | goal | measured |", "|---|---|---|---|---|---|---|"];

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

/** The line of an area in the table. */
export const rowOf = ({ name, goal }: Area, score: Score, day: string): string => {
  const cells = [score.killed, score.survived.length, score.equivalent.length, percent(shareOf(score)), percent(goal)];
  return `| ${name} | ${cells.join(" | ")} | ${day} |`;
};

/** The line of an area all of whose files were measured, with the day of the one that was longest ago; else undefined. */
export const rowOfWhole = (area: Area, measured: MeasuredFiles): string | undefined => {
  const files = filesOf(area);
  const days = files.flatMap((file) => measured[file]?.on ?? []);
  return days.length < files.length ? undefined : rowOf(area, scoreOf(files, measured), days.toSorted()[0] ?? "");
};

const asDiff = ({ code, mutation }: Survivor): string => `  \`\`\`diff\n  - ${code}\n  + ${mutation}\n  \`\`\``;

/**
 * Puts new rows into the page's table, each in the place of its area's last one, and below it all survivors, and all
 * equivalent mutants.
 */
export const withResults = (
  page: string,
  areas: readonly Area[],
  rows: ReadonlyMap<string, string | undefined>,
  measured: MeasuredFiles,
): string => {
  const old = page.split("\n");
  const table = areas.flatMap(({ name }) => rows.get(name) ?? old.find((line) => line.startsWith(`| ${name} |`)) ?? []);
  const survivors = scoreOf(Object.keys(measured).toSorted(), measured).survived.map(
    (survivor) => `- \`${survivor.file}\`\n\n${asDiff(survivor)}`,
  );
  const equivalent = equivalentMutants.map((mutant) => `- \`${mutant.file}\`: ${mutant.reason}\n\n${asDiff(mutant)}`);
  const places = { table: [...HEAD, ...table], survivors, list: equivalent };
  return Object.entries(places).reduce((text, [name, lines]) => placed(text, name, lines.join("\n")), page);
};
