import { placed } from "../marked-place.ts";
import type { Area } from "./areas.ts";
import { equivalentMutants } from "./equivalent-mutants.ts";
import { type Score, shareOf } from "./score.ts";

const HEAD = ["| code | killed | survived | equivalent | score | goal | measured |", "|---|---|---|---|---|---|---|"];

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;

/** The line of an area in the table. */
export const rowOf = ({ name, goal }: Area, score: Score, day: string): string => {
  const cells = [score.killed, score.survived.length, score.equivalent.length, percent(shareOf(score)), percent(goal)];
  return `| ${name} | ${cells.join(" | ")} | ${day} |`;
};

/** Puts new rows into the page's table, each in the place of its area's last one, and all equivalent mutants below it. */
export const withResults = (page: string, areas: readonly Area[], rows: Map<string, string>): string => {
  const old = page.split("\n");
  const table = areas.flatMap(({ name }) => rows.get(name) ?? old.find((line) => line.startsWith(`| ${name} |`)) ?? []);
  const list = equivalentMutants.map(
    ({ file, code, mutation, reason }) =>
      `- \`${file}\`: ${reason}\n\n  \`\`\`diff\n  - ${code}\n  + ${mutation}\n  \`\`\``,
  );
  return placed(placed(page, "table", [...HEAD, ...table].join("\n")), "list", list.join("\n"));
};
