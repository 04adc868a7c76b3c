import { initialTransition, transition } from "xstate";
import { statePath } from "../chart.ts";
import type { LaunchEffect, LaunchEvent, LaunchInput } from "./events.ts";
import { launchMachine } from "./machine.ts";

/**
 * The journal of a launch that led to a task: what its chart began with, and every event that it accepted, oldest first. It is
 * kept with the task, whose own journal says the rest.
 */
export interface LaunchJournal {
  input: Omit<LaunchInput, "id" | "parentSessionID" | "left">;
  events: LaunchEvent[];
}

/** One event of a launch, and what it led to. */
export interface LaunchStep {
  event: LaunchEvent;
  /** The state before it and after it, such as `preparing.creating.cutting`. */
  from: string;
  to: string;
  /** What the chart wanted done. */
  effects: LaunchEffect["type"][];
}

/** Replays the journal of a launch, whose first prompt has that id. */
export const replayLaunch = ({ input, events }: LaunchJournal, id: string, parentSessionID: string): LaunchStep[] => {
  let [before] = initialTransition(launchMachine, { ...input, id, parentSessionID });
  return events.map((event) => {
    const [after, actions] = transition(launchMachine, before, event);
    const from = statePath(before.value);
    before = after;
    return {
      ...{ event, from, to: statePath(after.value) },
      effects: actions.flatMap(({ type, params }) =>
        type === "emitEffect" ? (params as unknown as LaunchEffect).type : [],
      ),
    };
  });
};
