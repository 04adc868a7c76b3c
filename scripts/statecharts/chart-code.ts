import type { AnyStateMachine } from "xstate";
import { guardName, guardParts, RAISE_IN_JSON } from "../../src/machines/chart-json.ts";
import { answersOf, nodesOf, type PlainAnswers } from "./guard-answers.ts";

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** Returns JSON as it is shown, with each raise as a call of XState's `raise`. */
const configCode = (value: unknown, raise: (event: unknown) => string, indent = ""): string => {
  if (!isObject(value)) return JSON.stringify(value);
  if (value.type === RAISE_IN_JSON) return raise(value.event);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const inner = Object.entries(value).map(([key, part]) => {
    const code = configCode(part, raise, `${indent}  `);
    return `${indent}  ${Array.isArray(value) ? "" : `${JSON.stringify(key)}: `}${code}`;
  });
  return inner.length === 0 ? `${open}${close}` : `${open}\n${inner.join(",\n")}\n${indent}${close}`;
};

/** Returns a guard as code for XState. */
const guardCode = (guard: unknown): string => {
  const parts = guardParts(guard);
  if (parts.kind === "named") return JSON.stringify(parts.name);
  if (parts.kind === "stateIn") return `stateIn(${JSON.stringify(parts.state)})`;
  const inner = parts.guards.map(guardCode).join(", ");
  return parts.kind === "not" ? `not(${inner})` : `${parts.kind}([${inner}])`;
};

/** Returns the composed guards of a chart as code, by the names that its JSON has for them. */
const composedGuards = (machine: AnyStateMachine): Record<string, string> => {
  const inTransitions = nodesOf(machine.root).flatMap(({ always = [], transitions }) =>
    [...always, ...[...transitions.values()].flat()].map(({ guard }) => guard),
  );
  const all: [string, unknown][] = [
    ...Object.entries(machine.implementations.guards),
    ...inTransitions.flatMap((guard): [string, unknown][] => (guard === undefined ? [] : [[guardName(guard), guard]])),
  ];
  return Object.fromEntries(
    all.flatMap(([name, guard]) => (guardParts(guard).kind === "named" ? [] : [[name, guardCode(guard)]])),
  );
};

/** Returns the names of the actions in a chart's JSON, but for those that raise events. */
const actionNames = (config: unknown): string[] => {
  const names = new Set<string>();
  JSON.stringify(config, (key, value) => {
    if (key === "entry" || key === "exit" || key === "actions")
      for (const { type } of [value].flat()) if (type !== RAISE_IN_JSON) names.add(type);
    return value;
  });
  return [...names].toSorted();
};

const lines = (parts: string[], indent: string) => parts.map((part) => `\n${indent}${part},`).join("");

/** Returns a record as code, a line for each entry. */
const recordCode = (record: Record<string, unknown>): string =>
  `{${lines(
    Object.entries(record).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`),
    "  ",
  )}\n}`;

const headOf = (name: string): string => `\
// The chart \`${name}\` of opencode-taskchart, to be loaded and simulated by XState 5. \`npm run statecharts\` makes it.
//
//   import { createActor } from "xstate";
//   import { plainRun, ${name} } from "./${name}.js";
//
//   const actor = createActor(${name}).start();
//   for (const event of plainRun) {
//     actor.send(event);
//     console.log(event.type, actor.getSnapshot().value);
//   }
//
// States, transitions and the events that the regions raise for each other are those of the plugin, and so is what a guard
// says of other states (\`in #open\`). What the plugin computes is not here: actions do nothing, the context does not
// change, and payloads of events can be left out. So a guard answers, of these, the first that there is:
//
// 1. what the event says, as in \`{ type: "SOME_EVENT", guards: { someGuard: false } }\`
// 2. what it answered to an event of this type in the plain run (\`answers\`: change it for events that regions raise)
// 3. what it answered to any other event there, the last time; a guard that was not asked there holds if a state would not
//    take an event without it, and does not if it only chooses between transitions: then the last one is taken (\`otherwise\`)
//
// The plain run is a real one of the plugin: an agent launches a task and ends its turn, the task is answered, its notice is
// read, and OpenCode is closed.
`;

/**
 * Writes a chart as a module that starts in XState 5.
 * @param config the chart's JSON
 */
export const codeOf = (machine: AnyStateMachine, config: unknown, { toEvents, otherwise, events }: PlainAnswers) => {
  const name = machine.id;
  const raise = (event: unknown) => {
    const raised = event as { type: string };
    const guards = answersOf(raised, machine);
    return `raise(${JSON.stringify(Object.keys(guards).length > 0 ? { ...raised, guards } : raised)})`;
  };
  const chart = configCode(config, raise);
  const composed = Object.entries(composedGuards(machine)).map(([guard, code]) => `${JSON.stringify(guard)}: ${code}`);
  const guards = ["...Object.fromEntries(Object.keys(otherwise).map((name) => [name, answering(name)]))", ...composed];
  const body = `createMachine(${chart}).provide({
  guards: {${lines(guards, "    ")}
  },
  actions: {${lines(
    actionNames(config).map((action) => `${JSON.stringify(action)}: () => {}`),
    "    ",
  )}
  },
})`;
  const called = ["and", "createMachine", "not", "or", "raise", "stateIn"].filter((call) => body.includes(`${call}(`));
  return `${headOf(name)}
import { ${called.join(", ")} } from "xstate";

export const answers = ${recordCode(toEvents)};

const otherwise = ${recordCode(otherwise)};

const answering = (name) => ({ event }) =>
  event.guards?.[name] ?? answers[event.type]?.[name] ?? otherwise[name];

export const plainRun = [${lines(
    events.map((event) => JSON.stringify(event)),
    "  ",
  )}
];

export const ${name} = ${body};
`;
};
