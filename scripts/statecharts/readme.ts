import { type State, withAllInside } from "./chart.ts";
import { mermaidOf } from "./mermaid.ts";
import { eventsTable, refusalsTable, statesTable, transitionsTable } from "./tables.ts";

/** A chart, and what its events mean. */
export interface Explained {
  chart: State;
  meanings: Record<string, string>;
}

const folded = (summary: string, content: string): string =>
  `<details>\n<summary>${summary}</summary>\n\n${content}\n\n</details>`;

const INTRODUCTION = `# Statecharts

Three charts: one runs for each task, one for each parent session that is owed notices, one for the process. What can happen, and what follows from it, is in
these pictures and nowhere else. They are made from [the code that runs](../src/machines) by \`npm run statecharts\`; tests fail where they differ from it.`;

const READING = `In the pictures a dot leads to the state that is begun with. An arrow has the colour of the state that it leaves; its label names the event and, in
brackets, the guard that must hold; after a slash, what the chart then raises for its other regions. An arrow that begins inside a state's border leads away from every state in there. In a state's box stand the events
that it takes without being left. Dashed boxes are regions, all of them active at the same time. Click a picture to see it in full size.`;

const STUDIO = `## In Stately Studio

Open [Stately Studio](https://stately.ai/editor), choose **Import** in its Code panel, and paste the whole of \`task.js\`, \`outbox.js\` or \`supervisor.js\`: each is the
chart as a \`createMachine(…)\` call, with guards and actions by their names. It opens as a picture that can be simulated; each state and each arrow says there what it
means. The \`.json\` files are the same without the call, for anything else that reads statecharts:

\`\`\`js
import { createMachine } from "xstate";
import task from "./task.json" with { type: "json" };

const machine = createMachine(task);
\`\`\`

A running plugin serves the same JSON at \`GET /v1/machines\`.`;

const overview = (charts: Explained[]): string =>
  [
    "| chart | what it is | files |",
    "| --- | --- | --- |",
    ...charts.map(({ chart: { name, description = "" } }) => {
      const files = ["svg", "mmd", "json", "js"].map((ending) => `[${ending}](${name}.${ending})`);
      return `| [${name}](#${name}) | ${description} | ${files.join(" · ")} |`;
    }),
  ].join("\n");

/** The states whose transitions are shown together: a region of the chart, or the whole chart. */
const transitionTables = (chart: State): string[] => {
  const regions = chart.kind === "parallel" ? chart.states : [];
  const outside = chart.kind === "parallel" ? [chart] : withAllInside(chart);
  return [
    ...(outside.some(({ transitions }) => transitions.length > 0)
      ? [folded(`What every event does in <code>${chart.name}</code>`, transitionsTable(outside, ""))]
      : []),
    ...regions.map((region) =>
      folded(
        `What every event does in <code>${region.path}</code>`,
        transitionsTable(withAllInside(region), region.path),
      ),
    ),
  ];
};

const refusals = (chart: State): string[] => {
  const table = refusalsTable(chart);
  if (table === undefined) return [];
  return [
    "### Refusals",
    "An event that no active state takes changes nothing, and whoever asked for it is told why:",
    table,
  ];
};

const section = ({ chart, meanings }: Explained): string[] => [
  `## ${chart.name}`,
  chart.description ?? "",
  `[![The chart ${chart.name}](${chart.name}.svg)](${chart.name}.svg)`,
  folded("The same picture as Mermaid", `\`\`\`mermaid\n${mermaidOf(chart)}\`\`\``),
  "### States",
  statesTable(chart),
  "### Events",
  eventsTable(meanings),
  "An event is looked for in the innermost state first, then in those around it. Of several rows for one event the first whose guard holds is taken.",
  ...transitionTables(chart),
  ...refusals(chart),
];

/** The page that shows and explains the charts. */
export const readmeOf = (charts: Explained[]): string =>
  `${[INTRODUCTION, overview(charts), READING, ...charts.flatMap(section), STUDIO].join("\n\n")}\n`;
