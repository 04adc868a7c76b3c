import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type AnyStateMachine, createActor as createActorIn5 } from "xstate";
import { createActor, createMachineFromConfig } from "xstate6";
import { type StateValue, statePaths } from "../../src/machines/chart.ts";
import { guardParts, machines } from "../../src/machines/chart-json.ts";

/** What XState 6 passes to a guard, as far as it is needed here. */
interface GuardArgs {
  event: { type: string };
  _snapshot: { value: StateValue };
}

const url = (file: string) => new URL(`../../statecharts/${file}`, import.meta.url);

/** Returns the guards of a chart for XState 6, which composes none: what they are composed of is asked here. */
const guardsFor6 = (five: AnyStateMachine): Record<string, (args: GuardArgs) => boolean> => {
  const guards = five.implementations.guards as Record<string, unknown>;
  const holds = (guard: unknown, args: GuardArgs): boolean => {
    const parts = guardParts(guard);
    switch (parts.kind) {
      case "stateIn": {
        const path = five.getStateNodeById(String(parts.state)).path.join(".");
        return statePaths(args._snapshot.value).some((active) => `${active}.`.startsWith(`${path}.`));
      }
      case "and":
        return parts.guards.every((inner) => holds(inner, args));
      case "or":
        return parts.guards.some((inner) => holds(inner, args));
      case "not":
        return !parts.guards.every((inner) => holds(inner, args));
      case "named": {
        const named = guards[parts.name];
        return guardParts(named).kind === "named" ? (named as (args: GuardArgs) => boolean)(args) : holds(named, args);
      }
    }
  };
  return Object.fromEntries(Object.keys(guards).map((name) => [name, (args) => holds(name, args)]));
};

test.for(Object.keys(machines))(
  "createMachineFromConfig of XState 6 takes %s.json, which then goes through the plain run as in XState 5",
  async (name) => {
    const json = JSON.parse(readFileSync(url(`${name}.json`), "utf8"));
    const { [name]: five, plainRun } = await import(url(`${name}.js`).href);
    const actions = Object.fromEntries(
      Object.keys(five.implementations.actions).map((action) => [action, () => undefined]),
    );
    const six = createActor(createMachineFromConfig(json, { guards: guardsFor6(five), actions })).start();
    const other = createActorIn5(five).start();
    expect(six.getSnapshot().value).toEqual(other.getSnapshot().value);
    for (const event of plainRun) {
      six.send(event);
      other.send(event);
      expect(six.getSnapshot().value, event.type).toEqual(other.getSnapshot().value);
    }
  },
);
