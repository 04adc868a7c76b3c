import { chartsAsJson, machines } from "../../src/machines/chart-json.ts";
import { outboxEventDescriptions } from "../../src/machines/outbox/events.ts";
import { supervisorEventDescriptions } from "../../src/machines/supervisor/events.ts";
import { taskEventDescriptions } from "../../src/machines/task/events.ts";
import { chartOf } from "./chart.ts";
import { codeOf } from "./chart-code.ts";
import { plainAnswersOf } from "./guard-answers.ts";
import { mermaidOf } from "./mermaid.ts";
import { playPlainRun } from "./plain-run.ts";
import { type Explained, readmeOf } from "./readme.ts";
import { svgOf } from "./svg.ts";

/** The charts that are shown, with the meanings of their events. */
export const shown: [Explained, ...Explained[]] = [
  { chart: chartOf(machines.task), meanings: taskEventDescriptions },
  { chart: chartOf(machines.outbox), meanings: outboxEventDescriptions },
  { chart: chartOf(machines.supervisor), meanings: supervisorEventDescriptions },
];

/** Makes the files of `statecharts/` from the machines, by name. */
export const statechartFiles = async (): Promise<Record<string, string>> => {
  const configs = chartsAsJson();
  const run = await playPlainRun();
  const files: Record<string, string> = { "README.md": readmeOf(shown) };
  for (const [name, machine] of Object.entries(machines)) {
    files[`${name}.json`] = `${JSON.stringify(configs[name], null, 2)}\n`;
    files[`${name}.js`] = codeOf(machine, configs[name], plainAnswersOf(machine, run[name] ?? []));
  }
  for (const { chart } of shown) {
    files[`${chart.name}.mmd`] = mermaidOf(chart);
    files[`${chart.name}.svg`] = await svgOf(chart);
  }
  return files;
};
