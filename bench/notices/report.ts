import { type Figures, figuresOf } from "./figures.ts";
import { bytesGoal, deliveryGoals, type Goal, ratioGoal } from "./goals.ts";
import { type Ratio, ratiosOf } from "./ratios.ts";
import type { Round } from "./round.ts";
import { figuresTable, goalsTable, ratiosTable } from "./table.ts";

/** What all rounds come to. */
export type Report = {
  figures: Figures[];
  /** Ours against the built-in, and against the other build where there is one. */
  ratios: Ratio[];
  definitions: { tools: number; bytes: number };
  goals: Goal[];
};

/**
 * @param sizes how many tasks ended together, in the order of the report
 * @throws Error when ours or the built-in has no round of one of these sizes.
 */
export function reportOf(rounds: Round[], sizes: number[], definitions: Report["definitions"]): Report {
  const builtIn = sizes.flatMap((tasks) => ratiosOf(rounds, tasks, "ours", "built-in"));
  const other = sizes.flatMap((tasks) => ratiosOf(rounds, tasks, "ours", "other"));
  const contenders = [...new Set(rounds.map(({ contender }) => contender))];
  const delivery = (tasks: number) =>
    deliveryGoals(figuresOf(rounds, "ours", tasks), figuresOf(rounds, "built-in", tasks));
  return {
    figures: sizes.flatMap((tasks) => contenders.map((contender) => figuresOf(rounds, contender, tasks))),
    ratios: [...builtIn, ...other],
    definitions,
    goals: [
      ...builtIn.flatMap((ratio) => ratioGoal(ratio) ?? []),
      ...sizes.flatMap(delivery),
      bytesGoal(definitions.bytes),
    ],
  };
}

/** The report as tables for people, at most 100 columns wide. */
export function formatReport({ figures, ratios, goals }: Report): string {
  const tables = [figuresTable(figures)];
  for (const to of ["built-in", "other"] as const) {
    const those = ratios.filter((ratio) => ratio.to === to);
    if (those.length > 0) tables.push(ratiosTable(those));
  }
  // A ratio's goal stands beside it already.
  const beside = new Set(ratios.map((ratio) => ratioGoal(ratio)?.name));
  const others = goals.filter(({ name }) => !beside.has(name));
  const load = Math.max(...figures.map(({ benchLoad }) => benchLoad)) * 100;
  const note = `In a median round the bench itself used at most ${load.toFixed(0)} % of a core until the last notice.`;
  return [...tables, goalsTable(others), note].join("\n\n");
}
