import { type State, withAllInside } from "./chart.ts";
import { mermaidOf } from "./mermaid.ts";
import { eventsTable, refusalsTable, statesTable, transitionsTable } from "./tables.ts";

/** A chart, and the meanings of its events. */
export interface Explained {
  chart: State;
  meanings: Record<string, string>;
}

const folded = (summary: string, content: string): string =>
  `<details>\n<summary>${summary}</summary>\n\n${content}\n\n</details>`;

const INTRODUCTION = `# Statecharts

Four charts: one runs for each launch, until its task begins, one for each task, one for each parent session that is owed notices, one for the process. These pictures show everything that can happen and
what follows from it. \`npm run statecharts\` makes them from [the code that runs](../src/machines), and a test fails when they differ from it.`;

const READING = `In the pictures a dot leads to the initial state. An arrow has the colour of the state that it leaves; its label names the event, in brackets the guard that
must hold, and after a slash the event that it raises for the other regions. An arrow that begins at a state's border from within leads away from every state inside. A state's box
lists the events that it takes without being left. Dashed boxes are regions, all active at the same time. Click a picture to see it in full size.`;

const STUDIO = `## In Stately Studio

Open [Stately Studio](https://stately.ai/editor), choose **Import** in its Code panel, and paste the whole of \`launch.js\`, \`task.js\`, \`outbox.js\` or \`supervisor.js\`: each is the
chart as a \`createMachine(…)\` call, with guards and actions by their names. It opens as a picture that can be simulated, with a description at each state and each
arrow. The \`.json\` files are the same without the call, for other tools that read statecharts:

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

/** Tables of transitions: one for each region of the chart, or one for the whole chart. */
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
    "An event that no active state takes changes nothing. These reasons are given to the caller that sent it:",
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
  "The innermost state that takes an event comes first, then those around it. Of several rows for one event, the first whose guard holds is taken.",
  ...transitionTables(chart),
  ...refusals(chart),
];

/** Writes the page that shows and explains the charts. */
export const readmeOf = (charts: Explained[]): string =>
  `${[INTRODUCTION, overview(charts), READING, ...charts.flatMap(section), STUDIO].join("\n\n")}\n`;
