// Reads the log of a run, which alone says what happened to it, and reports that to the chart of its task.
import { createHash } from "node:crypto";
import type { RemoteRun, UserRequest } from "../../machines/task/events.ts";
import { isNewer, isSameClaim } from "../../machines/task/setup.ts";
import { isInFleet } from "../../machines/task/slot.ts";
import { besideText, type Claim, type Worktree } from "../../task.ts";
import { errorMessage } from "../platform/log.ts";
import type { Broker, PlacedEntry } from "./broker.ts";
import type { Membership, OriginEngine } from "./member.ts";
import { type Ended, type EntryOf, type RunName, unpackPatch } from "./wire-messages.ts";

/** What the log of a run says. */
export interface RunLog {
  /** The place of its last entry, 0 where it is empty. */
  last: number;
  /** The claims, oldest first. Those after the run has ended do not count. */
  claims: { at: Claim; entry: EntryOf<"claimed"> }[];
  /** The entry that ended the run: of the worker whose claim was the newest then, or of the origin server. */
  ended: EntryOf<"ended"> | undefined;
  /** The requests of the agent of the newest claim, answered or not. */
  asked: EntryOf<"asked">["requests"];
  /** The replies since the newest claim. */
  replies: EntryOf<"replied">[];
  /** True where the origin server has asked for a stop since the newest claim. */
  isStopRequested: boolean;
  isReceived: boolean;
}

/** True for an entry that ends the run: the origin server's, or that of the newest claim. */
const counts = (ended: EntryOf<"ended">, newest: Claim | undefined): boolean =>
  ended.claim === undefined || isSameClaim(ended.claim, newest);

/** Sums up the entries of a log, oldest first. */
export const readLog = (entries: readonly PlacedEntry[]): RunLog => {
  const log: RunLog = {
    ...{ last: 0, claims: [], asked: [], replies: [] },
    ...{ ended: undefined, isStopRequested: false, isReceived: false },
  };
  for (const { at, entry } of entries) {
    log.last = at.seq;
    if (!entry) continue;
    if (entry.type === "received") log.isReceived = true;
    if (log.ended) continue;
    if (entry.type === "claimed") {
      log.claims.push({ at, entry });
      log.isStopRequested = false;
      log.asked = [];
      log.replies = [];
    }
    const newest = log.claims.at(-1)?.at;
    if (entry.type === "asked" && (newest === undefined || isSameClaim(entry.claim, newest)))
      log.asked = entry.requests;
    if (entry.type === "replied") log.replies.push(entry);
    if (entry.type === "stopRequested") log.isStopRequested = true;
    if (entry.type === "ended" && counts(entry, newest)) log.ended = entry;
  }
  return log;
};

/** Returns the requests of the agent that nobody has replied to. */
const openRequestsIn = ({ asked, replies, ended }: RunLog): RunLog["asked"] =>
  ended ? [] : asked.filter(({ id }) => replies.every(({ requestId }) => requestId !== id));

/** True where a claim is no longer the one that counts. */
export const isSuperseded = (log: RunLog, claim: Claim): boolean => {
  const newest = log.claims.at(-1)?.at;
  return log.ended !== undefined || (newest !== undefined && isNewer(newest, claim));
};

/**
 * True where a log lacks the newest claim that the origin server knows: a broker that was set back to an older copy of its store
 * has forgotten it, and gives its place to another entry.
 */
export const hasForgotten = ({ claims }: RunLog, known: RemoteRun | undefined): boolean =>
  known !== undefined &&
  known.attempts.length > 0 &&
  !claims.some(({ at, entry }) => entry.server.id === known.server.id && isSameClaim(at, known.claim));

/** Reads the log of a run; undefined where the broker does not answer. */
export const findLog = async (broker: Broker, name: RunName): Promise<RunLog | undefined> => {
  const read = await broker.read(name);
  return read.is === "read" ? readLog(read.entries) : undefined;
};

/**
 * Names the worktree of what was changed in a run: the same, however often the log is read, and though the worker writes the end
 * once more, with another claim, where the broker has lost it.
 */
const idOfChanges = (taskId: string, run: number, { nonce }: Ended): string =>
  createHash("sha256").update(`${taskId} ${run} ${nonce}`).digest("hex").slice(0, 8);

/** Makes a worktree of what the agent changed on the other server; undefined where that is nothing, or cannot be applied. */
const changesIn = async (
  { log }: Membership,
  { charts, receiveChanges }: OriginEngine,
  taskId: string,
  ended: Ended,
): Promise<Worktree | undefined> => {
  const { facts, run, remote } = charts().snapshotOf(taskId)?.context ?? {};
  const { patch } = ended;
  if (patch === undefined || !facts?.fleet || !run) return undefined;
  const { directory, fleet } = facts;
  const id = idOfChanges(taskId, run.index, ended);
  const refuse = (reason: string) =>
    log.error("what a task changed on another server could not be taken over", { taskId, reason });
  try {
    const change = { id, task: facts, directory, commit: fleet.commit, before: remote?.worktree };
    const received = await receiveChanges({ ...change, patch: unpackPatch(patch) });
    return received.ok ? received.value : void refuse(received.reason);
  } catch (error) {
    // What another server sends may be anything.
    return void refuse(errorMessage(error));
  }
};

/** Opens requests that the agent has made there, and closes those that were answered. */
const reportRequests = ({ charts, onHostEvent }: OriginEngine, taskId: string, open: readonly UserRequest[]): void => {
  const known = charts().snapshotOf(taskId)?.context.userRequests ?? [];
  const isIn = (requests: readonly UserRequest[], { id }: UserRequest) => requests.some((one) => one.id === id);
  for (const request of known.filter((one) => !isIn(open, one))) {
    onHostEvent({ type: "replied", sessionID: taskId, requestID: request.id });
  }
  for (const request of open.filter((one) => !isIn(known, one))) {
    onHostEvent({ type: "asked", sessionID: taskId, request });
  }
};

/** Sends a task's chart the claims of a run's log, the requests, and how the run ended. The chart refuses what it knows already. */
export const reportRun = async (
  member: Membership,
  engine: OriginEngine,
  { task: taskId, run }: RunName,
  found: RunLog,
): Promise<void> => {
  const { clock } = member;
  const { charts, onSteps } = engine;
  const { claims, ended } = found;
  const isUnderWay = () => {
    const snapshot = charts().snapshotOf(taskId);
    // It may be worked on here by now, or in a later run.
    return snapshot !== undefined && snapshot.context.run.index === run && isInFleet(snapshot);
  };
  if (!isUnderWay()) return;
  for (const { at, entry } of claims) {
    const { server, replaces } = entry;
    const isNewestForgotten = hasForgotten(found, charts().snapshotOf(taskId)?.context.remote);
    const more = { ...(replaces ? { replaces } : {}), ...(isNewestForgotten ? { isNewestForgotten } : {}) };
    charts().send(taskId, { type: "REMOTE_CLAIMED", at: clock.now(), claim: at, server, ...more });
  }
  reportRequests(engine, taskId, openRequestsIn(found));
  if (!ended) return;
  if (!ended.claim) return charts().send(taskId, { type: "CLOSED", at: clock.now() });
  const { claim, outcome, completedAt, result, error, receipt } = ended;
  const worktree = await changesIn(member, engine, taskId, ended);
  if (!isUnderWay()) return;
  const at = clock.now();
  if (ended.steps) onSteps(taskId, ended.steps, Math.min(at, Date.parse(ended.steps.lastUpdate)));
  charts().send(taskId, {
    ...{ type: "REMOTE_ENDED", at, claim, outcome, completedAt, result, error, receipt },
    ...besideText(ended),
    ...(worktree ? { worktree } : {}),
  });
};
