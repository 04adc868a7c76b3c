import { createActor, type InspectionEvent, initialTransition } from "xstate";
import { type StateValue, statePath } from "../../../src/machines/chart.ts";
import type { LaunchEffect, LaunchEvent, LaunchInput } from "../../../src/machines/launch/events.ts";
import { type LaunchSnapshot, launchMachine } from "../../../src/machines/launch/machine.ts";
import { nameOfTransition } from "../../model/transitions.ts";
import { AT, createSnapshots, createSteps, effectsOf, type Step } from "../charts.ts";

/** Tries are counted where their number decides something. In a search that nobody waits for, it only makes pauses longer. */
const triesIn = (value: StateValue, tries: number): number => {
  const path = statePath(value);
  if (path.includes("searching") || path.includes("informing")) return tries;
  return path.startsWith("leftBehind") ? Math.min(tries, 1) : 0;
};

const timelessLaunch = ({ value, context }: Pick<LaunchSnapshot, "value" | "context">) => ({
  value,
  context: {
    ...context,
    tries: triesIn(value, context.tries),
    nextDeadline: context.nextDeadline && AT,
  },
});

/** What the product tries five or six times is tried twice: more tries are more of the same. */
const impatient = (machine: typeof launchMachine): typeof launchMachine =>
  machine.provide({
    guards: {
      searchesLeft: ({ context }) => context.tries < 2,
      preamblesLeft: ({ context }) => context.tries < 2,
    },
  });

/** The launch charts of all processes, stepped by XState's own `transition()`: snapshots by numbers, and each step taken once. */
export const createLaunchCharts = (given: typeof launchMachine = launchMachine) => {
  const machine = impatient(given);
  const snapshots = createSnapshots<LaunchSnapshot>(machine, timelessLaunch);
  const taken = new Set<string>();
  const inspect = (observation: InspectionEvent) => {
    if (observation.type !== "@xstate.microstep") return;
    for (const definition of observation._transitions) taken.add(nameOfTransition(definition));
  };
  const step = createSteps<LaunchSnapshot, LaunchEffect>(machine, snapshots, taken);
  return {
    at: snapshots.at,
    /** The transitions that were taken so far, by name. */
    taken,
    step: (before: number, event: LaunchEvent): Step<LaunchEffect> => step(before, event),
    begin: (input: LaunchInput): Step<LaunchEffect> => {
      createActor(machine, { input, inspect }).start();
      const [snapshot, actions] = initialTransition(machine, input);
      return { after: snapshots.numberOf(snapshot), hasStepped: true, effects: effectsOf<LaunchEffect>(actions) };
    },
  };
};

export type LaunchCharts = ReturnType<typeof createLaunchCharts>;
