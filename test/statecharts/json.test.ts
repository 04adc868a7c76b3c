import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type AnyStateMachine, createMachine } from "xstate";
import { shown } from "../../scripts/statecharts/files.ts";
import { chartOf } from "../../src/machines/plain-chart.ts";

const fileUrl = (name: string): URL => new URL(`../../statecharts/${name}`, import.meta.url);

/** A chart without what it says of guards and actions in words: the files have their names alone. */
const namesOf = (chart: unknown): unknown =>
  JSON.parse(JSON.stringify(chart, (key, value) => (key === "condition" || key === "effects" ? undefined : value)));

test.for(shown)("$chart.name.json is a machine with the same states and transitions", ({ chart }) => {
  const config = JSON.parse(readFileSync(fileUrl(`${chart.name}.json`), "utf8"));
  expect(namesOf(chartOf(createMachine(config)))).toEqual(namesOf(chart));
});

test.for(shown)("$chart.name.js is that machine as code", async ({ chart }) => {
  const module: Record<string, AnyStateMachine> = await import(fileUrl(`${chart.name}.js`).href);
  const machine = module[chart.name];
  expect(machine && namesOf(chartOf(machine))).toEqual(namesOf(chart));
});

test.for(shown)("every action in $chart.name.json has a name", ({ chart }) => {
  expect(readFileSync(fileUrl(`${chart.name}.json`), "utf8")).not.toMatch(/null|""/);
});
