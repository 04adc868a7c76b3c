import { join, type OwnText, own, quoteLine, vouchFor } from "./own-text.ts";

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
