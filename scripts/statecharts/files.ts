import { chartsAsJson } from "../../src/machines/chart-json.ts";
import { launchEventDescriptions } from "../../src/machines/launch/events.ts";
import { launchMachine } from "../../src/machines/launch/machine.ts";
import { outboxEventDescriptions } from "../../src/machines/outbox/events.ts";
import { outboxMachine } from "../../src/machines/outbox/machine.ts";
import { supervisorEventDescriptions } from "../../src/machines/supervisor/events.ts";
import { supervisorMachine } from "../../src/machines/supervisor/machine.ts";
import { taskEventDescriptions } from "../../src/machines/task/events.ts";
import { taskMachine } from "../../src/machines/task/machine.ts";
import { chartOf } from "./chart.ts";
import { mermaidOf } from "./mermaid.ts";
import { type Explained, readmeOf } from "./readme.ts";
import { svgOf } from "./svg.ts";

/** The charts that are shown, with the meanings of their events. */
export const shown: Explained[] = [
  { chart: chartOf(launchMachine), meanings: launchEventDescriptions },
  { chart: chartOf(taskMachine), meanings: taskEventDescriptions },
  { chart: chartOf(outboxMachine), meanings: outboxEventDescriptions },
  { chart: chartOf(supervisorMachine), meanings: supervisorEventDescriptions },
];

/** Returns a chart as a module that can be pasted into Stately Studio's import. */
const moduleOf = (name: string, json: string): string =>
  `import { createMachine } from "xstate";\n\nexport const ${name} = createMachine(${json});\n`;

/** Makes the files of `statecharts/` from the machines, by name. */
export const statechartFiles = async (): Promise<Record<string, string>> => {
  const configs = chartsAsJson();
  const files: Record<string, string> = { "README.md": readmeOf(shown) };
  for (const { chart } of shown) {
    const json = JSON.stringify(configs[chart.name], null, 2);
    files[`${chart.name}.json`] = `${json}\n`;
    files[`${chart.name}.js`] = moduleOf(chart.name, json);
    files[`${chart.name}.mmd`] = mermaidOf(chart);
    files[`${chart.name}.svg`] = await svgOf(chart);
  }
  return files;
};
