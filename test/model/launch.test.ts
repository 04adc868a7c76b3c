import { describe, expect, test } from "vitest";
import { launchMachine } from "../../src/machines/launch/machine.ts";
import { PARENT } from "../fakes/stage.ts";
import { isNightly } from "../nightly.ts";
import { comparable, createLaunchDriver } from "./launch-driver.ts";
import { LAUNCHES, type LaunchPath, launchPaths, pathsToEachStep, stateOf } from "./launch-paths.ts";
import { statesOf, transitionsOf } from "./transitions.ts";

const taken = new Set<string>();
const visited = new Set<string>();

/** States that a launch leaves at once in the engine: nothing can come between. */
const isMoment = (state: string): boolean => state === "starting" || state === "preparing.waiting";

const nameOf = ({ steps }: LaunchPath): string => steps.map(({ event }) => event.type).join(" ");

const walk = async (path: LaunchPath) => {
  const driver = await createLaunchDriver(path);
  const { stage } = driver;
  try {
    for (const [index, { event, before, after }] of path.steps.entries()) {
      await driver.drive(event, before);
      if (isMoment(stateOf(after))) continue;
      expect(comparable(driver.standing()), `${index + 1}. ${event.type}`).toEqual(comparable(after));
    }
    await driver.finish();
    // Whatever happened: the call was answered, and there is a task with its session and worktree, or nothing.
    const tasks = stage.store.list({}).map(({ sessionID }) => sessionID);
    expect([driver.launched.value, driver.launched.fault].filter((end) => end !== undefined)).toHaveLength(1);
    expect(tasks).toEqual(driver.launched.value === undefined ? [] : [driver.launched.value]);
    expect(stage.host.sessionIDs()).toEqual([PARENT, ...tasks]);
    const worktrees = tasks.flatMap((id) => stage.task(id).worktree?.id ?? []);
    const isLeft = path.steps.some(
      ({ event, before }) => `${stateOf(before)} ${event.type}` === "givingUp.removingWorktree FAULT",
    );
    if (!isLeft) expect([...driver.worktrees]).toEqual(worktrees);
    expect(driver.onRecord()).toEqual([]);
  } finally {
    driver.end();
  }
  for (const name of driver.taken) taken.add(name);
  for (const state of driver.visited) visited.add(state);
};

const each = (paths: [string, LaunchPath][]) =>
  test.each(paths.map(([launch, path]) => [`${launch}: ${nameOf(path)}`, path] as const));

const all = (): [string, LaunchPath][] =>
  Object.entries(LAUNCHES).flatMap(([name, input]) =>
    launchPaths(input).map((path): [string, LaunchPath] => [name, path]),
  );

describe("the engine goes along with the launch's chart, and leaves nothing half made", () => {
  describe("by a way to each step of the chart, or at night by all shortest ways, of a launch", () => {
    each(isNightly ? all() : pathsToEachStep())("%s", (_, path) => walk(path));
  });

  test("through every state, and by every transition but one that takes a hundred launches", () => {
    // A launch has left the first state before anything is seen of it.
    const states = statesOf(launchMachine).filter((state) => state !== launchMachine.id && state !== "beginning");
    const transitions = transitionsOf(launchMachine);
    const missed = transitions.flatMap(({ name }) => (taken.has(name) ? [] : name));
    expect(states.filter((state) => !visited.has(state))).toEqual([]);
    expect(missed).toEqual(["preparing.waiting CANCEL #1"]);
  });
});
