import { createHash } from "node:crypto";
import type { HostEvent } from "../../machines/host-events.ts";
import type { UserRequest } from "../../machines/task/events.ts";
import { isInFleet } from "../../machines/task/slot.ts";
import { besideText, type Claim, type Worktree } from "../../task.ts";
import { errorMessage } from "../platform/log.ts";
import { fail, type Outcome } from "../platform/result.ts";
import type { Worktrees } from "../worktrees/worktrees.ts";
import type { Membership } from "./membership.ts";
import { hasForgotten, openRequestsIn, type RunLog } from "./run-log.ts";
import type { StepsTarget } from "./steps.ts";
import { type Ended, type RunName, unpackPatch } from "./wire-messages.ts";

/** What a run on another server is reported to: the engine that launched its task. */
export interface ReportTarget extends StepsTarget {
  /** Makes a worktree of what a task changed on another server. */
  receiveChanges: Worktrees["receive"];
  /** Takes what happens on another server as if this host had reported it. */
  onHostEvent(event: HostEvent): void;
}

type Reporter = Pick<Membership, "clock" | "log">;

/** Names the worktree of what was changed: the same, however often the log is read. */
const idOfChanges = (taskId: string, { epoch, seq }: Claim): string =>
  createHash("sha256").update(`${taskId} ${epoch} ${seq}`).digest("hex").slice(0, 8);

/** Unpacks bytes of another server, which may be anything, and passes them to `take`. */
const unpack = async <T>(packed: string, take: (bytes: Uint8Array) => Promise<Outcome<T>>): Promise<Outcome<T>> => {
  try {
    return await take(unpackPatch(packed));
  } catch (error) {
    return fail(errorMessage(error));
  }
};

/** Makes a worktree of what the agent changed on the other server; undefined where that is nothing, or cannot be applied. */
const changesIn = async (
  { log }: Reporter,
  { charts, receiveChanges }: ReportTarget,
  taskId: string,
  { patch }: Ended,
  claim: Claim,
): Promise<Worktree | undefined> => {
  const { facts, remote } = charts().snapshotOf(taskId)?.context ?? {};
  if (patch === undefined || !facts?.fleet) return undefined;
  const { directory, fleet } = facts;
  const change = {
    id: idOfChanges(taskId, claim),
    task: facts,
    directory,
    commit: fleet.commit,
    before: remote?.worktree,
  };
  const received = await unpack(patch, (bytes) => receiveChanges({ ...change, patch: bytes }));
  if (received.ok) return received.value;
  log.error("what a task changed on another server could not be taken over", { taskId, reason: received.reason });
  return undefined;
};

/** Opens requests that the agent has made there, and closes those that were answered. */
const reportRequests = ({ charts, onHostEvent }: ReportTarget, taskId: string, open: readonly UserRequest[]): void => {
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
  reporter: Reporter,
  target: ReportTarget,
  { task: taskId, run }: RunName,
  found: RunLog,
): Promise<void> => {
  const { clock } = reporter;
  const { charts, onSteps } = target;
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
  reportRequests(target, taskId, openRequestsIn(found));
  if (!ended) return;
  if (!ended.claim) return charts().send(taskId, { type: "CLOSED", at: clock.now() });
  const { claim, outcome, completedAt, result, error, receipt } = ended;
  const worktree = await changesIn(reporter, target, taskId, ended, claim);
  if (!isUnderWay()) return;
  const at = clock.now();
  if (ended.steps) onSteps(taskId, ended.steps, Math.min(at, Date.parse(ended.steps.lastUpdate)));
  charts().send(taskId, {
    ...{ type: "REMOTE_ENDED", at, claim, outcome, completedAt, result, error, receipt },
    ...besideText(ended),
    ...(worktree ? { worktree } : {}),
  });
};
