import manifest from "../../package.json" with { type: "json" };
import { type State, withAllInside } from "../../src/machines/plain-chart.ts";
import type { Sheet } from "../../src/machines/sheets.ts";
import type { Words } from "../../src/machines/words.ts";
import { mermaidOf } from "./mermaid.ts";
import { STORIES } from "./stories.ts";
import { eventsTable, refusalsTable, statesTable, transitionsTable } from "./tables.ts";
import { whatIfTable } from "./what-if.ts";

/** A chart, and the meanings of its events. */
export interface Explained {
  chart: State;
  words: Words;
}

const folded = (summary: string, content: string): string =>
  `<details>\n<summary>${summary}</summary>\n\n${content}\n\n</details>`;

const INTRODUCTION = `# Statecharts

Four charts: one runs for each launch, until its task begins, one for each task, one for each parent session that is owed notices, and one for the process. These pictures show everything that can happen and
what follows from it. \`npm run statecharts\` makes them from [the code that runs](../src/machines), and a test fails when they differ from it.`;

const READING = `Begin with this one. A click opens it as a page of its own, on which each box is a link to what is inside.`;

const STORIES_TOLD = `## Stories

Ways that a task can go, each told by the journal of a real run: what happened, when, and in which state the task was then, beside its life with that way
lit. [The journals](../scripts/statecharts/stories) have no text of anybody, and a test replays them.`;

const SHEETS = `## Sheets

Each shows what is directly inside one state: a box for each state there, what happens in it, under which condition, and where that leads to. All sheets together
show every state and every transition. A dot marks the state in which it begins; regions have none, as all of them are active at the same time.`;

const WHAT_IF = `## What happens if

Each cell is what the chart itself does: the state that the task is in then.`;

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

const picture = ({ file, trail }: Sheet): string => {
  const name = trail.map((one) => one.name).join(" › ");
  return `[![${name}](sheets/${file}.svg)](sheets/${file}.svg)`;
};

const stories = (): string =>
  STORIES.map(({ file, title, sentence }) => `- [${title}](stories/${file}.svg): ${sentence}`).join("\n");

/** A list of links, nested as the states are. */
const contents = (sheets: Sheet[]): string =>
  sheets
    .map(({ file, trail, description }) => {
      const name = trail.at(-1)?.name ?? file;
      return `${"  ".repeat(trail.length - 1)}- [${name}](sheets/${file}.svg): ${description}`;
    })
    .join("\n");

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

const section = ({ chart, words }: Explained): string[] => [
  `## ${chart.name}`,
  chart.description ?? "",
  `[The whole chart on one sheet](${chart.name}.svg), for those who look for how it hangs together: the arrows have the names of events and guards in the code.`,
  folded("The same as Mermaid", `\`\`\`mermaid\n${mermaidOf(chart)}\`\`\``),
  "### States",
  statesTable(chart),
  "### Events",
  eventsTable(words.meanings),
  "The innermost state that takes an event comes first, then those around it. Of several rows for one event, the first whose guard holds is taken.",
  ...transitionTables(chart),
  ...refusals(chart),
];

/** Writes the page that shows and explains the charts. `sheets` are those of each chart, by its name. */
export const readmeOf = (
  charts: [Explained, ...Explained[]],
  life: Sheet,
  sheets: ReadonlyMap<string, Sheet[]>,
): string => {
  const [task] = charts;
  return `${[
    ...[INTRODUCTION, overview(charts), READING, picture(life), STORIES_TOLD, stories(), SHEETS],
    contents([...sheets.values()].flat()),
    ...[WHAT_IF, whatIfTable(task.chart)],
    ...charts.flatMap(section),
    otherTools(charts),
  ].join("\n\n")}\n`;
};
