import { initialTransition, transition } from "xstate";
import { statePaths } from "../../src/machines/chart.ts";
import { isInState } from "../../src/machines/place.ts";
import { type State, withAllInside } from "../../src/machines/plain-chart.ts";
import {
  type TaskEffect,
  type TaskEvent,
  type TaskInput,
  taskEffectDescriptions,
} from "../../src/machines/task/events.ts";
import { asNextRun, refusalReason, type TaskSnapshot, taskMachine } from "../../src/machines/task/machine.ts";
import { table } from "./tables.ts";

const AT = Date.UTC(2026, 0, 1);
const LATER = AT + 3_600_000;

const INPUT: TaskInput = {
  facts: {
    ...{
      sessionID: "ses_1",
      parentSessionID: "ses_parent",
      parentMessageID: "msg_0",
      parentAgent: "build",
      author: "build",
    },
    ...{ directory: "/project", description: "find it", prompt: "Find it.", agent: "general", batchId: "batch" },
    ...{ startedAt: new Date(AT).toISOString(), isForked: false, priority: 0 },
    gate: { command: "npm test", tries: 1, timeout: 60_000 },
  },
  run: { index: 0, messageID: "msg_1", partID: "prt_1", prompt: "Find it.", startedAt: AT },
};

const error = { name: "APIError", kind: "provider", message: "Overloaded." } as const;
const message = { messageID: "msg_2", partID: "prt_2", prompt: "Look there, too." };
const answered: TaskEvent = { type: "CHECKED_ANSWERED", at: AT, checkId: 1, completedAt: AT, result: "Found." };
const begun: TaskEvent[] = [
  { type: "SLOT_GRANTED", at: AT },
  { type: "PROMPT_ACCEPTED", at: AT },
];
const checked: TaskEvent[] = [...begun, { type: "HOST_IDLE", at: AT }];
const gated: TaskEvent[] = [...checked, answered];
const paused: TaskEvent[] = [
  ...begun,
  { type: "PAUSE", at: AT, by: "person" },
  { type: "STOPPED", at: AT },
  { type: "CHECKED_ABORTED", at: AT, checkId: 1, completedAt: AT },
];
const gateEnded = (exit: number): TaskEvent => ({
  ...{ type: "GATE_ENDED", at: AT, gateRun: 1, ...message },
  end: { exit, end: "exited", output: "1 failed" },
});

/** Where a task may be that works here, and what leads there from its launch. */
const HERE: Record<string, TaskEvent[]> = {
  "in the queue": [],
  "at work": begun,
  "waiting for you": [
    ...begun,
    { type: "REQUEST_ASKED", at: AT, request: { id: "per_1", kind: "permission", what: "edit", since: AT } },
  ],
  "refused for now": [...begun, { type: "HOST_RETRYING", at: AT, attempt: 1, message: "Overloaded.", until: LATER }],
  "being checked": checked,
  "at its gate": gated,
  paused,
  "being cancelled": [...begun, { type: "CANCEL", at: AT }],
  completed: [...gated, gateEnded(0)],
  "failed, and delivered": [
    ...checked,
    { type: "CHECKED_FAILED", at: AT, checkId: 1, completedAt: AT, error: { ...error, kind: "provider" } },
    { type: "NOTICE_COMPOSED", at: AT },
    { type: "NOTICE_ACKNOWLEDGED", at: AT },
  ],
};

const startOf = (input: TaskInput, events: readonly TaskEvent[]): TaskSnapshot =>
  events.reduce(
    (snapshot, event) => transition(taskMachine, snapshot, event)[0],
    initialTransition(taskMachine, input)[0],
  );

/** A task that other servers may work on has no gate. */
const OFFERED: TaskInput = {
  ...INPUT,
  facts: {
    ...INPUT.facts,
    gate: undefined,
    fleet: { pool: "default", commit: "0".repeat(40), attempts: 3, patience: LATER },
  },
};

const PLACES: Record<string, TaskSnapshot> = {
  ...Object.fromEntries(Object.entries(HERE).map(([words, events]) => [words, startOf(INPUT, events)])),
  "on another server": startOf(OFFERED, [
    { type: "JOB_ENQUEUED", at: AT },
    { type: "REMOTE_CLAIMED", at: AT, claim: { epoch: 1, seq: 1 }, server: { id: "srv_1", label: "worker" } },
  ]),
};

/** What may happen to it. */
const EVENTS: Record<string, TaskEvent> = {
  "You cancel it": { type: "CANCEL", at: LATER },
  "You pause it": { type: "PAUSE", at: LATER, by: "person" },
  "You have it go on": { type: "CONTINUE", at: LATER },
  "You give it an instruction": { type: "STEER", at: LATER, ...message, text: "…", from: "user" },
  "You answer what it asked": { type: "REQUEST_ANSWERED", at: LATER, id: "per_1" },
  "You answer nothing, and nothing is heard of it": { type: "BECAME_STALE", at: LATER },
  "It is resumed": { type: "RESUME", at: LATER, ...message },
  "It is retried": { type: "RETRY", at: LATER, ...message, budgetFrom: { toolCalls: 0, tokens: 0, cost: 0 } },
  "Its provider refuses for now": {
    type: "HOST_RETRYING",
    at: LATER,
    attempt: 2,
    message: "Overloaded.",
    until: 2 * LATER,
  },
  "OpenCode reports an error in it": { type: "HOST_ERROR", at: LATER, error },
  "Its gate fails": gateEnded(1),
  "It is beyond a limit": { type: "LIMIT_EXCEEDED", at: LATER, error: { ...error, kind: "budget" } },
  "OpenCode dies, and another one takes over": {
    type: "ADOPTED",
    at: LATER,
    recovery: "continue",
    isNoticePending: false,
  },
  "Its session is deleted": { type: "SESSION_DELETED", at: LATER },
};

/** The sentences of the states that the step has entered: of those inside each other, the innermost. */
const entered = (states: State[], before: TaskSnapshot, now: TaskSnapshot): string[] => {
  const [was, is] = [before, now].map(({ value }) => statePaths(value));
  const isIn = (path: string, active: string[] | undefined) => active?.some((one) => isInState(one, path)) ?? false;
  const paths = states
    .map(({ path }) => path)
    .filter((path) => isIn(path, is) && !isIn(path, was) && path !== "run.idle");
  const innermost = paths.filter((path) => !paths.some((other) => other.startsWith(`${path}.`)));
  return innermost.map((path) => states.find((state) => state.path === path)?.description ?? "");
};

/** What somebody asks for: it is done, or refused for a reason. */
const ASKED: ReadonlySet<TaskEvent["type"]> = new Set(["CANCEL", "PAUSE", "CONTINUE", "STEER", "RESUME", "RETRY"]);

const cellOf = (states: State[], before: TaskSnapshot, given: TaskEvent): string => {
  const event = before.can(given) ? given : asNextRun(given);
  if (!before.can(event)) {
    return ASKED.has(given.type) ? `Refused: ${refusalReason(before, given)}.` : "Nothing changes.";
  }
  const [now, actions] = transition(taskMachine, before, event);
  const asked = (actions as readonly { type: string; params?: unknown }[]).flatMap(({ type, params }) =>
    type === "emitEffect" ? taskEffectDescriptions[(params as TaskEffect).type] : [],
  );
  const said = entered(states, before, now);
  if (said.length > 0) return said.join(" ");
  return asked.length > 0 ? asked.join(" ") : "It is noted, and the task stays where it is.";
};

/** Returns a table of what follows from what may happen to a task, wherever it is: each cell by the chart itself. */
export const whatIfTable = (chart: State): string => {
  const states = withAllInside(chart).filter(({ path }) => path.includes("."));
  return table(
    ["what happens", ...Object.keys(PLACES)],
    Object.entries(EVENTS).map(([words, event]) => [
      `**${words}**`,
      ...Object.values(PLACES).map((place) => cellOf(states, place, event)),
    ]),
  );
};
