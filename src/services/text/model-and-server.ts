import { type FleetServer, isSameModel, type ModelRef, type RefusedModel, type Task } from "../../task.ts";
import { join, nameOf, type OwnText, own, quoteLine, vouchFor } from "./own-text.ts";

/** Returns the name of a model as people and agents write it: `provider/model`, or `provider/model#variant`. */
export const modelName = ({ providerID, modelID, variant }: ModelRef): string =>
  `${providerID}/${modelID}${variant === undefined ? "" : `#${variant}`}`;

/** Characters of a provider's reason that are quoted. */
const REASON_CHARS = 200;

/** Writes which model a run went on with, and why, or that all refused it; undefined where it went on with none. */
export const wentOn = ({
  model,
  refusedModels,
}: {
  model?: ModelRef | undefined;
  refusedModels?: readonly RefusedModel[] | undefined;
}): OwnText | undefined => {
  if (!refusedModels) return undefined;
  const refusals = refusedModels.map((refused) => {
    const name = refused.model ? nameOf(modelName(refused.model)) : own`the agent's own model`;
    return own`${name}: ${quoteLine(refused.reason, REASON_CHARS)}`;
  });
  if (isSameModel(refusedModels.at(-1)?.model, model)) return own`was refused by every model: ${join(refusals, ", ")}`;
  return own`went on with ${model ? nameOf(modelName(model)) : own`another model`} after ${join(refusals, ", ")}`;
};

/**
 * Names the other server of the fleet that works on a task, or that ended it; undefined where that is this server, and while
 * the task waits for one. The one before may be gone then.
 */
export const otherServer = ({ server, waiting }: Pick<Task, "server" | "waiting">): OwnText | undefined =>
  server === undefined || waiting?.for === "fleet" || waiting?.for === "server" ? undefined : nameOf(server.label);

/** Writes where a task runs, or ran, in words that follow what it is, such as "on desk"; undefined where that is here. */
export const onServer = (task: Pick<Task, "server" | "waiting">): OwnText | undefined => {
  const name = otherServer(task);
  return name === undefined ? undefined : own`on ${name}`;
};

/** Explains why a task runs here though its agent is for other servers. `reason` is one of ours, which may quote others. */
export const runsHere = (reason: string): OwnText => own`It runs here, not on another server: ${vouchFor(reason)}.`;

/** Reports that another server has a conversation, and this OpenCode is in no fleet any more. */
export const outOfFleet = ({ label }: FleetServer, taskId: string): OwnText =>
  own`The conversation of task ${nameOf(taskId)} is on server ${nameOf(label)}, and this OpenCode is in no fleet now: the option fleet names one.`;

/** What is known of a fleet, as the status API returns it. */
export interface KnownFleet {
  isReached: boolean;
  /** Why the servers could not be asked who is there: a sentence of ours while the broker is not reached, else its refusal. */
  problem?: string | undefined;
  servers: readonly { projects: readonly { slots: number; atWork: number }[] }[];
  /** True where there may be more servers. */
  isCut: boolean;
  tasks: { waiting: number };
}

const counted = (count: number, noun: OwnText): OwnText => own`${count} ${noun}${count === 1 ? own`` : own`s`}`;

const waitingText = (waiting: number): OwnText[] =>
  waiting === 0 ? [] : [own`${counted(waiting, own`task`)} ${waiting === 1 ? own`waits` : own`wait`}`];

const serversText = ({ servers, isCut }: KnownFleet): OwnText[] => {
  if (servers.length === 0) return [own`no server is there`];
  const projects = servers.flatMap((server) => server.projects);
  const sum = (count: "slots" | "atWork") => projects.reduce((all, one) => all + one[count], 0);
  return [
    own`${isCut ? own`at least ` : own``}${counted(servers.length, own`server`)}`,
    own`${sum("atWork")} of ${counted(sum("slots"), own`slot`)} taken`,
  ];
};

/**
 * Summarizes a fleet: `3 servers, 5 of 28 slots taken, 2 tasks wait`. Where its servers are not known, only the tasks that wait
 * are counted, and the text is empty where none does.
 */
export const fleetSummary = (fleet: KnownFleet): OwnText =>
  join([...(fleet.problem === undefined ? serversText(fleet) : []), ...waitingText(fleet.tasks.waiting)], ", ");

/** Returns why the servers of a fleet are not known, as a sentence; undefined where they are. */
export const fleetProblem = ({
  isReached,
  problem,
}: Pick<KnownFleet, "isReached" | "problem">): OwnText | undefined => {
  if (problem === undefined) return undefined;
  if (isReached) return own`Its servers cannot be asked who is there: ${quoteLine(problem)}.`;
  return vouchFor(/[.!?…]$/.test(problem) ? problem : `${problem}.`);
};
