import type { AnyTransitionDefinition } from "xstate";
import { outboxMachine } from "../../src/machines/outbox/machine.ts";
import { parentOfOutbox } from "../../src/machines/supervisor/machine.ts";
import { taskMachine } from "../../src/machines/task/machine.ts";
import type { Inspect, InspectedRef } from "../../src/services/runtime/actor-system.ts";
import { transitionsOf } from "../model/transitions.ts";

/*
 * What random schedules must have come to: a promise about a situation that never occurs is not tried at all.
 */

const CHARTS = { task: taskMachine, outbox: outboxMachine } as const;

/** Counts in how many schedules each situation has occurred. */
export interface Situations {
  /** Observes the charts of a process of the schedule that is played. */
  watch: Inspect;
  /** Notes that the schedule is over. */
  endSchedule(): void;
  /** In how many schedules each has occurred, by name. */
  counts(): ReadonlyMap<string, number>;
}

/** The name of a transition as `transitionsOf` gives it, also where a chart was given other actions. */
const nameOf = (definition: AnyTransitionDefinition): string => {
  const { source, eventType } = definition;
  const path = source.path.join(".") || source.machine.id;
  const all = (eventType === "" ? source.always : source.transitions.get(eventType)) ?? [];
  return `${path} ${eventType === "" ? "(always)" : eventType} #${all.indexOf(definition) + 1}`;
};

/** Creates counters of all transitions of the charts of a task and of an outbox. */
export const createSituations = (): Situations => {
  const counts = new Map<string, number>(
    Object.entries(CHARTS).flatMap(([chart, machine]) =>
      transitionsOf(machine).map(({ name }): [string, number] => [`${chart}: ${name}`, 0]),
    ),
  );
  let inThisSchedule = new Set<string>();
  return {
    watch: (observation) => {
      if (observation.type !== "@xstate.microstep") return;
      const { id } = observation.actorRef as InspectedRef;
      const chart = parentOfOutbox(id) === undefined ? "task" : "outbox";
      for (const definition of observation._transitions) {
        if (definition.source.machine.id === chart) inThisSchedule.add(`${chart}: ${nameOf(definition)}`);
      }
    },
    endSchedule: () => {
      for (const name of inThisSchedule) counts.set(name, (counts.get(name) ?? 0) + 1);
      inThisSchedule = new Set();
    },
    counts: () => counts,
  };
};
