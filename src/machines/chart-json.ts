// Functions cannot be written down: in JSON, guards and actions have names. What is composed or raised stays as it is, as far as
// JSON can say it (docs/decisions/293-exported-charts-can-be-simulated.md).
import { and, not, or } from "xstate";
import { launchMachine } from "./launch/machine.ts";
import { outboxMachine } from "./outbox/machine.ts";
import { supervisorMachine } from "./supervisor/machine.ts";
import { taskMachine } from "./task/machine.ts";

/** All charts, by their names: these are exported, by the API and as files. */
export const machines = {
  launch: launchMachine,
  task: taskMachine,
  outbox: outboxMachine,
  supervisor: supervisorMachine,
};

/** An event without what is known only while a chart runs. */
export interface PlainEvent {
  type: string;
  outcome?: string;
}

/** The fields of a guard or an action that XState builds as a function. */
interface Builtin {
  type?: string;
  /** In `and`, `or` and `not`. */
  check?: unknown;
  guards?: unknown[];
  /** In `stateIn`. */
  stateValue?: unknown;
  /** In `assign`. */
  assignment?: object;
  /** In an action that requests an effect: the effect's name. */
  effect?: string;
  /** In `raise`; an event in a chart that was JSON. */
  event?: PlainEvent | ((args: unknown) => unknown);
}

const checkOf = (guard: unknown) => (guard as Builtin).check;
const AND = checkOf(and([]));
const OR = checkOf(or([]));
const NOT = checkOf(not("nothing"));

/** What a guard is made of. `named`: a function of the chart, or a guard that is composed under that name. */
export type GuardParts =
  | { kind: "named"; name: string }
  | { kind: "stateIn"; state: unknown }
  | { kind: "and" | "or" | "not"; guards: unknown[] };

/** Takes a guard apart, by one level. */
export const guardParts = (guard: unknown): GuardParts => {
  if (typeof guard === "string") return { kind: "named", name: guard };
  const { type = "", check, guards = [], stateValue } = guard as Builtin;
  if (stateValue !== undefined) return { kind: "stateIn", state: stateValue };
  if (check === AND) return { kind: "and", guards };
  if (check === OR) return { kind: "or", guards };
  if (check === NOT) return { kind: "not", guards };
  return { kind: "named", name: type };
};

/**
 * Returns a guard's name, or describes a composed one, such as `in #nothingOwed and not waitedFor`. As in code, `and` binds
 * its parts before `or` does.
 */
export const guardName = (guard: unknown): string => {
  const parts = guardParts(guard);
  if (parts.kind === "named") return parts.name;
  if (parts.kind === "stateIn") return `in ${parts.state}`;
  const names = parts.guards.map((inner) => {
    const { kind } = guardParts(inner);
    const isLooser = parts.kind === "not" ? kind === "and" || kind === "or" : parts.kind === "and" && kind === "or";
    return isLooser ? `(${guardName(inner)})` : guardName(inner);
  });
  return parts.kind === "not" ? `not ${names[0]}` : names.join(` ${parts.kind} `);
};

/** Stands for what is known only while a chart runs, whatever is read of it. JSON leaves it out. */
export const UNKNOWN: unknown = new Proxy(() => undefined, { get: () => UNKNOWN });

/** XState 6 reads a raise in JSON under this name. In XState 5 it is an action like any other. */
export const RAISE_IN_JSON = "@xstate.raise";

/** Returns the event that an action raises, such as `{ type: "RUN_ENDED", outcome: "completed" }`; undefined for another action. */
export const raisedEvent = (action: unknown): PlainEvent | undefined => {
  const { type, event } = action as Builtin;
  if (type !== "xstate.raise" && type !== RAISE_IN_JSON) return undefined;
  const raised = typeof event === "function" ? event({ event: UNKNOWN, context: UNKNOWN }) : event;
  return JSON.parse(JSON.stringify(raised));
};

/** Returns an action's name, or says what one without a name does, such as `assign result` or `raise RUN_ENDED (completed)`. */
export const actionName = (action: unknown): string => {
  if (typeof action === "string") return action;
  const raised = raisedEvent(action);
  if (raised) return `raise ${raised.type}${raised.outcome === undefined ? "" : ` (${raised.outcome})`}`;
  const { type = "", assignment = {}, effect } = action as Builtin;
  if (effect !== undefined) return effect;
  const kind = type.replace("xstate.", "");
  return kind === "assign" ? ["assign", Object.keys(assignment).join(", ")].join(" ").trim() : kind;
};

const actionJSON = (action: unknown): object => {
  const event = raisedEvent(action);
  if (event) return { type: RAISE_IN_JSON, event };
  // Parameters stay, unless a function computes them.
  return typeof action === "object" ? { ...action } : { type: actionName(action) };
};

const guardJSON = (guard: unknown): object => (typeof guard === "object" ? { ...guard } : { type: guardName(guard) });

const ACTIONS = new Set(["entry", "exit", "actions"]);

const toData = (key: string, value: unknown): unknown => {
  if (key === "guard") return guardJSON(value);
  if (ACTIONS.has(key)) return Array.isArray(value) ? value.map(actionJSON) : actionJSON(value);
  return value;
};

/**
 * Returns a chart as JSON that `createMachine` accepts. Each guard and each action is an object with its name as `type`. What
 * functions compute while a chart runs is left out: the first context, the parameters of an action.
 */
export const chartAsJson = ({ config }: { config: unknown }): unknown => JSON.parse(JSON.stringify(config, toData));

/** Returns the JSON of each chart, by the chart's name. */
export const chartsAsJson = (): Record<string, unknown> =>
  Object.fromEntries(Object.entries(machines).map(([name, machine]) => [name, chartAsJson(machine)]));
