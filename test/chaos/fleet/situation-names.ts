import { taskMachine } from "../../../src/machines/task/machine.ts";
import { transitionsOf } from "../../model/transitions.ts";
import { type BrokerCall, TROUBLES, type Trouble } from "./steps.ts";

/*
 * What random schedules of a fleet come to, and how often. Each name is made of two parts, of which each is seen in what the product
 * does: what happens, and what it meets. So no pair is left out because nobody thought of it. Whoever makes one more frequent says
 * so here.
 */

/** How far a server is with a run of another one. */
export const PHASES = {
  taken: "has its job",
  held: "holds it",
  claimed: "has claimed it",
  begun: "begins it",
  working: "works on it",
  asking: "asks a person",
  stopping: "stops it",
  unwritten: "has its end to write",
  unreceived: "waits until its end is received",
} as const;
export type Phase = keyof typeof PHASES;

/** The states of a run at its origin that goes on. */
const STATES = {
  enqueuing: "its origin queues it",
  pausing: "its origin pauses before it queues it again",
  enqueued: "it waits for a server",
  withdrawing: "its origin takes it back",
  claimed: "its origin knows who works on it",
  requesting: "its origin has it stopped",
  closing: "its origin closes it",
  here: "its origin works on it",
} as const;
export type State = keyof typeof STATES;

/** How an origin is with a run. */
const VIEWS = {
  ...STATES,
  over: "its origin has its end",
  earlier: "its origin is in a later run",
  dead: "its origin is dead",
  asleep: "its origin is asleep",
  cutOff: "its origin is cut off",
} as const;
export type View = keyof typeof VIEWS;

/** What is written into the log of a run. */
const ENTRIES = {
  firstClaim: "a run is claimed for the first time",
  claim: "a run is claimed once more",
  claimAnew: "a claim is written anew that the broker has forgotten",
  asked: "it is written what the agent of a run asks",
  replied: "a reply to the agent of a run is written",
  ended: "the end of a run is written by its server",
  closed: "a run is closed by its origin",
  stopRequested: "it is written that a run is to stop",
  received: "it is written that the end of a run is received",
} as const;
export type Written = keyof typeof ENTRIES;

/** What happens to a server. */
const TO_SERVERS = {
  dies: "dies",
  starts: "starts again",
  sleeps: "falls asleep",
  wakes: "wakes up",
  loses: "is cut off",
  reaches: "reaches the broker again",
} as const;
export type ToServer = keyof typeof TO_SERVERS;

/** What happens to all runs, or to one. */
const TO_RUNS = {
  away: "the broker is away",
  back: "the broker is back",
  wiped: "the broker forgets everything",
  setBack: "the broker is set back to a copy",
  jobsLost: "the broker loses all jobs",
  cancelled: "a person cancels a run",
} as const;
export type ToRuns = keyof typeof TO_RUNS;

/** What else meets. */
export const MEETINGS = {
  lapsed: "the lease of a run lapses while its server works on it",
  heldElsewhere: "another server holds a run on which one works",
  together: "two servers work on a run",
  withOrigin: "a server works on a run that its origin works on, too",
  noPermit: "a permit is taken that a job needs",
  permitLater: "a job needs a permit that was queued before its model was limited",
  tooMany: "a model is limited to fewer tasks than are at work",
  lifted: "a limit is lifted while jobs are queued under it",
  resumedElsewhere: "a run that only one server can go on with is enqueued while that one is not there",
} as const;
export type Meeting = keyof typeof MEETINGS;

const TROUBLE_WORDS: Record<Trouble, string> = {
  lostThere: "does not arrive",
  lostBack: "takes effect, and its answer is lost",
  lateThere: "arrives late",
  lateBack: "is answered late",
  refused: "is refused",
};

export const entryMeets = (entry: Written, view: View): string => `${ENTRIES[entry]} while ${VIEWS[view]}`;
export const serverMeets = (what: ToServer, phase: Phase): string =>
  `a server ${TO_SERVERS[what]} while it ${PHASES[phase]}`;
export const originMeets = (what: ToServer, phase: Phase): string =>
  `the origin of a run ${TO_SERVERS[what]} while a server ${PHASES[phase]}`;
export const originIs = (what: ToServer, state: State): string =>
  `the origin of a run ${TO_SERVERS[what]} while ${VIEWS[state]}`;
export const runMeets = (what: ToRuns, phase: Phase): string => `${TO_RUNS[what]} while a server ${PHASES[phase]}`;
export const runIs = (what: ToRuns, state: State): string => `${TO_RUNS[what]} while ${VIEWS[state]}`;
export const troubleOf = (call: BrokerCall, is: Trouble): string => `the call "${call}" ${TROUBLE_WORDS[is]}`;

/** What the events of the fleet do in the chart of a task. */
export const isOfFleet = (name: string): boolean => /^run\.fleet|REMOTE_|CLOSED #/.test(name);

/*
 * How often each situation occurs: a row for what happens, a letter for each thing that it can meet, in the order of those.
 * `.` in three of a hundred schedules and more, `n` in six of a thousand, so that two thousand come to it, at night; `-` more seldom,
 * if at all, and the explorations come to many of these; `x` cannot be.
 */

/**
 * By `VIEWS`. What an origin writes, it does not write while it is dead or cut off. Only what a task at work asks is replied to;
 * only an origin that has a run stopped asks for that; only an end is received; an origin closes only what it takes back or gives up.
 */
const ENTRY_MEETS: Record<Written, string> = {
  firstClaim: "- n . n - - - - - - n - -",
  claim: "- - - - . - - - - - n n -",
  claimAnew: "- - - - . - - - - - - - -",
  asked: "- - - - . - - - - - - - -",
  replied: "x x x x n x x x x - x - x",
  ended: "- - . - . . - - - - n n -",
  closed: "x x x n x x . - n - x - x",
  stopRequested: "x x x x x . x x x x x - x",
  received: "x x x x x x x x . - x - x",
};

/** By `PHASES`. The simulated host takes a prompt, and stops a session, at once. */
const SERVER_MEETS: Record<ToServer, string> = {
  dies: "n - n x . n x n .",
  starts: "n - - x . - x - n",
  sleeps: "- - n x . n x - n",
  wakes: "- - - x . n x - n",
  loses: "- - - x . - x - n",
  reaches: "- - - x . - x - n",
};
const ORIGIN_MEETS: Record<ToServer, string> = {
  dies: "- - n x . n x n n",
  starts: "- - n x . n x - n",
  sleeps: "- - n x . n x - n",
  wakes: "- - - x . n x - n",
  loses: "- - - x . - x - n",
  reaches: "- - - x . n x - .",
};
const RUN_MEETS: Record<ToRuns, string> = {
  away: "- - - x . - x - n",
  back: "- - - x . - x - n",
  wiped: "- - - x . - x n n",
  setBack: "- - - x - - x - -",
  jobsLost: "- - - x n - x - -",
  cancelled: "- - - x . - x - n",
};

/** By `STATES`. */
const ORIGIN_IS: Record<ToServer, string> = {
  dies: "n n . - . n - -",
  starts: "- - . - . n - -",
  sleeps: "- n . - . - - n",
  wakes: "- - n - . - - n",
  loses: "- - n - . - - -",
  reaches: "- - n - . - - n",
};
const RUN_IS: Record<ToRuns, string> = {
  away: "- - n - . n - -",
  back: "- - n - . - - n",
  wiped: "- n n - . - - -",
  setBack: "- - - - - - - -",
  jobsLost: "- - n - n - - -",
  cancelled: "- n . - . n - -",
};

/** By `TROUBLES`. */
const TROUBLE_OF: Record<BrokerCall, string> = {
  "append claimed": "n - n n -",
  "append asked": "n - n - -",
  "append replied": "- - - - -",
  "append ended": ". n . n -",
  "append stopRequested": "n - n - -",
  "append received": "n - n - -",
  read: "- n - . -",
  enqueue: "n n n n -",
  isQueued: "- - - - -",
  take: "- - - - -",
  renew: "n - - - -",
  done: "n - - - -",
  requeue: "- - - - -",
  acquire: "- n n n -",
  holder: "- - - - -",
  release: "n - - - -",
  limits: "- n - - -",
  ask: "- - - - -",
};

/** By `MEETINGS`. */
const MEETS = ". n n - . n - - -";

/** Transitions of the chart that few schedules come to, by their state. All others occur in a hundred schedules. */
const IN_CHART: Record<string, { n?: string; "-"?: string; x?: string }> = {
  // No session is deleted here, no limit is set for a task, and no chart throws: the examples of those come to them.
  "run.fleet": { n: "CLOSED #1", "-": "CLOSED #2", x: "SESSION_DELETED #1, SUPERVISION_FAILED #1, REMOTE_ENDED #1" },
  "run.fleet.unclaimed": { n: "REMOTE_HELD #1" },
  "run.fleet.unclaimed.enqueuing": { n: "JOB_REFUSED #2, ADOPTED #1", "-": "JOB_REFUSED #3" },
  "run.fleet.unclaimed.enqueued": { n: "REMOTE_LOST #1" },
  "run.fleet.unclaimed.withdrawing": { "-": "TICK #1" },
  "run.fleet.claimed": { n: "REMOTE_LOST #1, REMOTE_LOST #2", x: "LIMIT_EXCEEDED #1" },
  "run.fleet.stopping": { n: "REMOTE_CLAIMED #1", x: "SESSION_DELETED #1, SESSION_DELETED #2, CLOSED #1" },
  "run.fleet.stopping.requesting": { n: "TICK #1", "-": "REMOTE_LOST #1" },
  "run.fleet.stopping.closing": { n: "TICK #1", "-": "TICK #3", x: "TICK #2" },
  attention: { "-": "CLOSED #1" },
};

const howOftenInChart = (transition: string): string => {
  const [state = "", ...event] = transition.split(" ");
  const of = Object.entries(IN_CHART[state] ?? {}).find(([, events]) => events.split(", ").includes(event.join(" ")));
  return of?.[0] ?? ".";
};

const keys = <Name extends string>(of: Record<Name, unknown>): Name[] => Object.keys(of) as Name[];

/** Returns the name of each pair, with how often it occurs. */
const pairs = <One extends string, Other extends string>(
  rows: Record<One, string>,
  others: readonly Other[],
  name: (one: One, other: Other) => string,
): [name: string, howOften: string | undefined][] =>
  keys(rows).flatMap((one) => {
    const letters = rows[one].split(" ");
    return others.map((other, at): [string, string | undefined] => [name(one, other), letters[at]]);
  });

/** All situations, with how often they occur. */
const HOW_OFTEN: ReadonlyMap<string, string | undefined> = new Map([
  ...transitionsOf(taskMachine).flatMap(({ name }): [string, string][] =>
    isOfFleet(name) ? [[`chart: ${name}`, howOftenInChart(name)]] : [],
  ),
  ...pairs(ENTRY_MEETS, keys(VIEWS), entryMeets),
  ...pairs(SERVER_MEETS, keys(PHASES), serverMeets),
  ...pairs(ORIGIN_MEETS, keys(PHASES), originMeets),
  ...pairs(ORIGIN_IS, keys(STATES), originIs),
  ...pairs(RUN_MEETS, keys(PHASES), runMeets),
  ...pairs(RUN_IS, keys(STATES), runIs),
  ...pairs(TROUBLE_OF, TROUBLES, troubleOf),
  ...Object.values(MEETINGS).map((name, at): [string, string | undefined] => [name, MEETS.split(" ")[at]]),
]);

/** All names. */
export const NAMES: readonly string[] = [...HOW_OFTEN.keys()];

/** True for a situation that some hundred schedules must come to. */
export const isExpected = (name: string): boolean => HOW_OFTEN.get(name) === ".";

/** True for one that two thousand must come to. */
export const isExpectedAtNight = (name: string): boolean => isExpected(name) || HOW_OFTEN.get(name) === "n";
