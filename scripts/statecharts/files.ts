import { chartsAsJson, machines } from "../../src/machines/chart-json.ts";
import { chartOf } from "../../src/machines/plain-chart.ts";
import { lifeSheet, sheetsOf } from "../../src/machines/sheets.ts";
import { chartWords } from "../../src/machines/words.ts";
import { codeOf } from "./chart-code.ts";
import { plainAnswersOf } from "./guard-answers.ts";
import { mermaidOf } from "./mermaid.ts";
import { playPlainRun } from "./plain-run.ts";
import { type Explained, readmeOf } from "./readme.ts";
import { sheetSvg } from "./sheet-svg.ts";
import { journalOf, STORIES } from "./stories.ts";
import { storySvg } from "./story-svg.ts";
import { svgOf } from "./svg.ts";
import { tell } from "./told.ts";

/** The charts that are shown, with what is said of their events and effects. */
export const shown: [Explained, ...Explained[]] = [
  { chart: chartOf(machines.task), words: chartWords.task },
  { chart: chartOf(machines.launch), words: chartWords.launch },
  { chart: chartOf(machines.outbox), words: chartWords.outbox },
  { chart: chartOf(machines.supervisor), words: chartWords.supervisor },
];

/** Makes the files of `statecharts/` from the machines, by name. */
export const statechartFiles = async (): Promise<Record<string, string>> => {
  const configs = chartsAsJson();
  const run = await playPlainRun();
  const sheets = new Map(shown.map(({ chart, words }) => [chart.name, sheetsOf(chart, words)]));
  const life = lifeSheet(sheets.get("task") ?? []);
  const [goesWell] = STORIES;
  const usual = tell(journalOf(goesWell)).flatMap(({ move }) => move ?? []);
  const files: Record<string, string> = { "README.md": readmeOf(shown, life, sheets) };
  for (const sheet of [life, ...[...sheets.values()].flat()])
    files[`sheets/${sheet.file}.svg`] = sheetSvg(sheet, sheet === life ? usual : []);
  for (const story of STORIES)
    files[`stories/${story.file}.svg`] = storySvg(story, tell(journalOf(story)), life, chartOf(machines.task));
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
