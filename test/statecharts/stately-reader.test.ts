import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { nodesOf } from "../../scripts/statecharts/guard-answers.ts";
import { chartsAsJson, guardName, machines, raisedEvent } from "../../src/machines/chart-json.ts";
import { loadReader } from "./stately-reader.ts";

const { extractMachinesFromFile } = await loadReader();

const read = (name: string) => {
  const code = readFileSync(new URL(`../../statecharts/${name}.js`, import.meta.url), "utf8");
  const found = extractMachinesFromFile(code)?.machines ?? [];
  const [machine] = found;
  if (!machine || found.length > 1) throw new Error(`${name}.js has ${found.length} charts for Stately's reader`);
  return machine;
};

/** Returns each value below that key, at any depth. */
const below = (value: unknown, wanted: string): unknown[] => {
  const found: unknown[] = [];
  JSON.stringify(value, (key, inner) => {
    if (key === wanted) found.push(inner);
    return inner;
  });
  return found;
};

describe.for(Object.entries(machines))("what Stately's reader makes of %s.js", ([name, { root }]) => {
  const chart = read(name);
  const nodes = nodesOf(root);
  const transitions = nodes.flatMap(({ always = [], transitions: on }) => [...always, ...[...on.values()].flat()]);

  test("has all states, and all transitions where they begin and end", () => {
    expect(chart.getAllStateNodes().map(({ path }) => path.join("."))).toEqual(
      expect.arrayContaining(nodes.map(({ path }) => path.join("."))),
    );
    expect(chart.getAllStateNodes()).toHaveLength(nodes.length);
    expect(chart.getTransitions()).toHaveLength(transitions.length);
    const targets = chart
      .getTransitionTargets()
      .flatMap(({ fromPath, targetPath }) => targetPath.map((path) => `${fromPath.join(".")} → ${path?.join(".")}`));
    expect(targets.toSorted()).toEqual(
      transitions
        .flatMap(({ source, target = [] }) => target.map(({ path }) => `${source.path.join(".")} → ${path.join(".")}`))
        .toSorted(),
    );
  });

  test("has all descriptions", () => {
    expect(below(chart.toConfig(), "description").toSorted()).toEqual(
      below(chartsAsJson()[name], "description").toSorted(),
    );
  });

  test("has the guard of each transition by its name, and each event that is raised as such", () => {
    const config = chart.toConfig();
    const guards = transitions.flatMap(({ guard }) => (guard === undefined ? [] : [guardName(guard)]));
    expect(
      below(config, "cond")
        .map((guard) => (guard as { type: string }).type)
        .toSorted(),
    ).toEqual(guards.toSorted());
    const raised = [
      ...nodes.flatMap(({ entry, exit }) => [...entry, ...exit]),
      ...transitions.flatMap(({ actions }) => actions),
    ]
      .flatMap((action) => raisedEvent(action) ?? [])
      .map(({ type }) => type);
    const read = below(config, "event").map((event) => (event as { type: string }).type);
    expect(read.toSorted()).toEqual(raised.toSorted());
  });
});
