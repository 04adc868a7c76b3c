import { and, not, or } from "xstate";
import { outboxMachine } from "./outbox/machine.ts";
import { supervisorMachine } from "./supervisor/machine.ts";
import { taskMachine } from "./task/machine.ts";

/** What XState makes of a guard or an action that is written as a function. */
interface Builtin {
  type?: string;
  /** Of `and`, `or`, `not`. */
  check?: unknown;
  guards?: unknown[];
  /** Of `stateIn`. */
  stateValue?: string;
  /** Of `assign`. */
  assignment?: object;
  /** Of `raise`. */
  event?: (args: { event: { at: number }; context: { run: { startedAt: number } } }) => {
    type: string;
    outcome?: string;
  };
}

const checkOf = (guard: unknown) => (guard as Builtin).check;
const COMBINED = new Map([
  [checkOf(and([])), " and "],
  [checkOf(or([])), " or "],
]);
const NOT = checkOf(not("nothing"));

/** A guard by its name; a composed one in words, such as `in #told and not waitedFor`. */
export const guardName = (guard: unknown): string => {
  if (typeof guard === "string") return guard;
  const { type, check, guards = [], stateValue } = guard as Builtin;
  if (stateValue !== undefined) return `in ${stateValue}`;
  const names = guards.map(guardName);
  return check === NOT ? `not ${names[0]}` : (type ?? names.join(COMBINED.get(check)));
};

/** What the expressions of `raise` read: the charts' own need no more. */
const NO_EVENT = { event: { at: 0 }, context: { run: { startedAt: 0 } } };

/** An action by its name; one without a name by what it does, such as `assign result` or `raise RUN_ENDED (completed)`. */
export const actionName = (action: unknown): string => {
  if (typeof action === "string") return action;
  const { type = "", assignment = {}, event } = action as Builtin;
  const kind = type.replace("xstate.", "");
  if (kind === "assign") return ["assign", Object.keys(assignment).join(", ")].join(" ").trim();
  if (kind !== "raise" || !event) return kind;
  const { type: raised, outcome } = event(NO_EVENT);
  return outcome === undefined ? `raise ${raised}` : `raise ${raised} (${outcome})`;
};

const named = (key: string, value: unknown): unknown => {
  if (key === "guard") return guardName(value);
  // What is left is computed when the machine runs: the first context, the parameters of an action.
  return typeof value === "function" ? ("type" in value ? actionName(value) : undefined) : value;
};

/** A chart as JSON that `createMachine` takes: states, transitions, descriptions; guards and actions by their names. */
const toJSON = ({ config }: { config: unknown }): unknown => JSON.parse(JSON.stringify(config, named));

/** The statecharts by name. */
export const chartsAsJson = (): Record<string, unknown> => ({
  task: toJSON(taskMachine),
  outbox: toJSON(outboxMachine),
  supervisor: toJSON(supervisorMachine),
});
