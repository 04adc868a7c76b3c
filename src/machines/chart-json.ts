import { and, not, or } from "xstate";
import { launchMachine } from "./launch/machine.ts";
import { outboxMachine } from "./outbox/machine.ts";
import { supervisorMachine } from "./supervisor/machine.ts";
import { taskMachine } from "./task/machine.ts";

/** The fields of a guard or an action that XState builds as a function. */
interface Builtin {
  type?: string;
  /** In `and`, `or` and `not`. */
  check?: unknown;
  guards?: unknown[];
  /** In `stateIn`. */
  stateValue?: string;
  /** In `assign`. */
  assignment?: object;
  /** In `raise`. */
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

/** Returns a guard's name, or describes a composed one, such as `in #nothingOwed and not waitedFor`. */
export const guardName = (guard: unknown): string => {
  if (typeof guard === "string") return guard;
  const { type, check, guards = [], stateValue } = guard as Builtin;
  if (stateValue !== undefined) return `in ${stateValue}`;
  const names = guards.map(guardName);
  return check === NOT ? `not ${names[0]}` : (type ?? names.join(COMBINED.get(check)));
};

/** Enough for the expressions of `raise` in the charts to be evaluated. */
const NO_EVENT = { event: { at: 0 }, context: { run: { startedAt: 0 } } };

/** Returns an action's name, or says what one without a name does, such as `assign result` or `raise RUN_ENDED (completed)`. */
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
  // The other functions compute something while a chart runs: the first context, the parameters of an action.
  return typeof value === "function" ? ("type" in value ? actionName(value) : undefined) : value;
};

/** Returns a chart as JSON that `createMachine` accepts, with guards and actions by their names. */
const toJSON = ({ config }: { config: unknown }): unknown => JSON.parse(JSON.stringify(config, named));

/** Returns the JSON of each chart, by the chart's name. */
export const chartsAsJson = (): Record<string, unknown> => ({
  launch: toJSON(launchMachine),
  task: toJSON(taskMachine),
  outbox: toJSON(outboxMachine),
  supervisor: toJSON(supervisorMachine),
});
