import { taskMachine } from "../../../src/machines/task/machine.ts";
import { transitionsOf } from "../../model/transitions.ts";
import { BROKER_CALLS, type BrokerCall, TROUBLES, type Trouble } from "./steps.ts";

/*
 * What random schedules of a fleet must have come to. Each name is made of two parts, of which each is seen in what the product
 * does: what happens, and what it meets. So no pair is left out because nobody thought of it.
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

/** How an origin is with a run. */
const VIEWS = {
  enqueuing: "its origin queues it",
  pausing: "its origin pauses before it queues it again",
  enqueued: "it waits for a server",
  withdrawing: "its origin takes it back",
  claimed: "its origin knows who works on it",
  requestingStop: "its origin has it stopped",
  closing: "its origin closes it",
  here: "its origin works on it",
  over: "its origin has its end",
  earlier: "its origin is in a later run",
  dead: "its origin is dead",
  asleep: "its origin is asleep",
  cutOff: "its origin is cut off",
} as const;
export type View = keyof typeof VIEWS;

/** The states of a run at its origin that goes on. */
const STATES = [
  "enqueuing",
  "pausing",
  "enqueued",
  "withdrawing",
  "claimed",
  "requestingStop",
  "closing",
  "here",
] as const;
export type State = (typeof STATES)[number];

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

const keys = <Name extends string>(of: Record<Name, unknown>): Name[] => Object.keys(of) as Name[];
const pairs = <One, Other>(ones: readonly One[], others: readonly Other[], name: (one: One, other: Other) => string) =>
  ones.flatMap((one) => others.map((other) => name(one, other)));

/** All names. */
export const NAMES: readonly string[] = [
  ...transitionsOf(taskMachine).flatMap(({ name }) => (isOfFleet(name) ? `chart: ${name}` : [])),
  ...pairs(keys(ENTRIES), keys(VIEWS), entryMeets),
  ...pairs(keys(TO_SERVERS), keys(PHASES), serverMeets),
  ...pairs(keys(TO_SERVERS), keys(PHASES), originMeets),
  ...pairs(keys(TO_SERVERS), STATES, originIs),
  ...pairs(keys(TO_RUNS), keys(PHASES), runMeets),
  ...pairs(keys(TO_RUNS), STATES, runIs),
  ...pairs(BROKER_CALLS, TROUBLES, troubleOf),
  ...Object.values(MEETINGS),
];
