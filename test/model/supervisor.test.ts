import { describe, expect, test } from "vitest";
import { initialTransition, transition } from "xstate";
import { supervisorMachine, withId } from "../../src/machines/supervisor/machine.ts";
import { createSupervisorDriver } from "./supervisor-driver.ts";
import {
  FIRST,
  type SupervisorSnapshot,
  type SupervisorStep,
  simpleSupervisorPaths,
  supervisorPaths,
} from "./supervisor-paths.ts";
import { activeStates, statesOf, transitionsOf } from "./transitions.ts";

const taken = new Set<unknown>();
const visited = new Set<string>();

const isFault = ({ type }: SupervisorStep) => type.startsWith("xstate.error");

/**
 * What the chart says after a step. Two things follow at once: a faulty actor is replaced by one that goes on from what
 * is stored, and an outbox goes with the last task.
 */
const standingOf = ({ value, context }: SupervisorSnapshot, step: SupervisorStep) => {
  const tasks = isFault(step) ? withId(context.tasks, FIRST) : context.tasks;
  return { value, tasks, outboxes: tasks.length > 0 ? context.outboxes : [] };
};

const walk = async (steps: SupervisorStep[]) => {
  const driver = await createSupervisorDriver(steps.some(({ type }) => type === "RESTORE"));
  let [snapshot] = initialTransition(supervisorMachine);
  try {
    for (const [index, step] of steps.entries()) {
      [snapshot] = transition(supervisorMachine, snapshot, step as never);
      await driver.drive(step);
      expect(driver.standing(), `${index + 1}. ${step.type}`).toEqual(standingOf(snapshot, step));
    }
  } finally {
    driver.end();
  }
  for (const { before, event } of driver.events) {
    for (const definition of supervisorMachine.getTransitionData(before, event as never)) taken.add(definition);
    for (const state of activeStates(before)) visited.add(state);
  }
  visited.add(driver.standing().value);
};

const nameOf = (steps: SupervisorStep[]): string =>
  steps.map((step) => ("id" in step ? `${step.type} ${step.id}` : step.type)).join(", ") || "nothing happens";

const each = (paths: SupervisorStep[][]) => test.each(paths.map((path) => [nameOf(path), path] as const));

describe("the engine goes along with the supervisor's chart, with two tasks of one parent", () => {
  describe("by a shortest way to each state, and by what may happen there", () => {
    each(supervisorPaths())("%s", (_, path) => walk(path));
  });
  describe("by every simple way", () => {
    each(simpleSupervisorPaths())("%s", (_, path) => walk(path));
  });

  test("through every state, and by every transition", () => {
    const states = statesOf(supervisorMachine).filter((state) => state !== supervisorMachine.id);
    const transitions = transitionsOf(supervisorMachine);
    const missed = transitions.filter(({ definition }) => !taken.has(definition)).map(({ name }) => name);
    const reached = states.filter((state) => visited.has(state));
    console.info(
      `supervisor chart: states ${reached.length}/${states.length}, transitions ${transitions.length - missed.length}/${transitions.length}`,
    );
    expect(reached).toEqual(states);
    expect(missed).toEqual([]);
  });
});
