import manifest from "../../package.json" with { type: "json" };
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

Three charts: one runs for each task, one for each parent session that is owed notices, one for the process. These pictures show everything that can happen and
what follows from it. \`npm run statecharts\` makes them from [the code that runs](../src/machines), and a test fails when they differ from it.`;

const READING = `In the pictures a dot leads to the initial state. An arrow has the colour of the state that it leaves; its label names the event, in brackets the guard that
must hold, and after a slash the event that it raises for the other regions. An arrow that begins at a state's border from within leads away from every state inside. A state's box
lists the events that it takes without being left. Dashed boxes are regions, all active at the same time. Click a picture to see it in full size.`;

const { xstate, xstate6, "@xstate/machine-extractor": reader } = manifest.devDependencies;

/** Says what can be done with the files of the charts. The first one is the example. */
const otherTools = ([{ chart: first }, ...others]: [Explained, ...Explained[]]): string => {
  const codes = [first, ...others.map(({ chart }) => chart)].map(({ name }) => `\`${name}.js\``).join(", ");
  return `## In Stately Studio and XState

Each chart is there as code and as data. Tests show what is said of them here; only Stately Studio itself, which is on the
internet, has not been tried.

**As code** (${codes}): for XState 5, tried with ${xstate}. The file needs nothing else. The chart starts, and can be simulated:

\`\`\`js
import { createActor } from "xstate";
import { plainRun, ${first.name} } from "./${first.name}.js";

const actor = createActor(${first.name}).start();
for (const event of plainRun) {
  actor.send(event);
  console.log(event.type, actor.getSnapshot().value);
}
\`\`\`

\`plainRun\` has the events of a real run of the plugin, and leads through the same states. Regions follow each other, because
events are really raised, and guards that ask for a state (\`in #open\`) are really asked. What the plugin computes is not there: actions
do nothing, and the context does not change. The head of each file says what the other guards answer. To take another way, let an event say it, as in
\`{ type: "CHECKED_ANSWERED", guards: { hasGate: true } }\`; for an event that is raised, change \`answers\` in the file.

To see it in [Stately Studio](https://stately.ai/editor), choose **Import** in its Code panel and paste the whole file. It is written for the
reader of Stately's published tools (\`@xstate/machine-extractor\` ${reader}), which finds every state, transition and guard in it, every
event that is raised, and the descriptions.

**As data** (\`.json\`, and \`GET /v1/machines\` of a running plugin): the same chart as JSON. Each guard and each action is an object with its
name as \`type\`; a guard that is composed of others has one name that says how, and an event that is raised is
\`{ "type": "@xstate.raise", "event": … }\`.

- \`createMachineFromConfig(json, { guards, actions })\` of XState 6 (tried with ${xstate6.replace("npm:xstate@", "")}) makes a machine that runs and raises its events, with the guards
  that it is given.
- \`createMachine(json)\` of XState 5 makes a machine with all states and transitions, for pictures and lists. It raises no events, so its regions do
  not follow each other: to simulate, take the code.`;
};

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
export const readmeOf = (charts: [Explained, ...Explained[]]): string =>
  `${[INTRODUCTION, overview(charts), READING, ...charts.flatMap(section), otherTools(charts)].join("\n\n")}\n`;
