import { type AnyStateMachine, and, not, or } from "xstate";
import type { Phrased } from "./chart.ts";
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
  /** In an action that requests an effect: the effect's name. */
  effect?: string;
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

/** Guards that only leave out what comes too late: after the run, or as an answer to an older question or prompt. */
const NOT_LATE = new Set(["live", "isCurrentCheck", "isCurrentGate", "isCurrentPrompt", "isOldestInstruction"]);

const joined = (phrases: string[], word: string): string =>
  phrases.length < 3 ? phrases.join(` ${word} `) : `${phrases.slice(0, -1).join(", ")} ${word} ${phrases.at(-1)}`;

/** The parts of a guard that have a phrase, and whether each must hold, or must not. */
const conditionsOf = (guard: unknown, phraseOf: (name: string) => string): { phrase: string; holds: boolean }[] => {
  const { check, guards = [] } = guard as Builtin;
  if (check === undefined) {
    const name = typeof guard === "string" ? guard : ((guard as Builtin).type ?? "");
    return NOT_LATE.has(name) ? [] : [{ phrase: phraseOf(name), holds: true }];
  }
  const parts = guards.flatMap((part) => conditionsOf(part, phraseOf));
  if (check === NOT) return parts.map(({ phrase, holds }) => ({ phrase, holds: !holds }));
  return COMBINED.get(check) === " or "
    ? [
        {
          phrase: joined(
            parts.map(({ phrase }) => phrase),
            "or",
          ),
          holds: true,
        },
      ]
    : parts;
};

/** Returns a guard as people read it, such as "if a slot is free, unless a tool call waits"; undefined where it only leaves out what comes too late. */
export const guardPhrase = (guard: unknown, { implementations }: AnyStateMachine): string | undefined => {
  const guards = implementations.guards as Record<string, Partial<Phrased> | undefined>;
  const conditions = conditionsOf(guard, (name) => guards[name]?.phrase ?? name);
  const [must, mustNot] = [true, false].map((isWanted) =>
    conditions.flatMap(({ phrase, holds }) => (holds === isWanted ? phrase : [])),
  );
  const parts = [
    ...(must?.length ? [`if ${joined(must, "and")}`] : []),
    ...(mustNot?.length ? [`unless ${joined(mustNot, "or")}`] : []),
  ];
  return parts.length > 0 ? parts.join(", ") : undefined;
};

/** Enough for the expressions of `raise` in the charts to be evaluated. */
const NO_EVENT = { event: { at: 0 }, context: { run: { startedAt: 0 } } };

/** Returns an action's name, or says what one without a name does, such as `assign result` or `raise RUN_ENDED (completed)`. */
export const actionName = (action: unknown): string => {
  if (typeof action === "string") return action;
  const { type = "", assignment = {}, event, effect } = action as Builtin;
  if (effect !== undefined) return effect;
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
  task: toJSON(taskMachine),
  outbox: toJSON(outboxMachine),
  supervisor: toJSON(supervisorMachine),
});
