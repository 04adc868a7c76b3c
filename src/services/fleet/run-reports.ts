import { createHash } from "node:crypto";
import type { HostEvent } from "../../machines/host-events.ts";
import type { UserRequest } from "../../machines/task/events.ts";
import { isInFleet } from "../../machines/task/slot.ts";
import { besideText, type Claim, type Worktree } from "../../task.ts";
import type { Clock } from "../platform/clock.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import { fail, type Outcome } from "../platform/result.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { Worktrees } from "../worktrees/worktrees.ts";
import type { StepsDeps } from "./live-steps.ts";
import { hasForgotten, openRequestsIn, type RunLog } from "./log-of-run.ts";
import type { Ended, RunName } from "./messages.ts";
import { unpackPatch } from "./patches.ts";

/** What reports of runs on other servers are made with. */
export interface RunReportDeps extends Pick<StepsDeps, "onSteps"> {
  clock: Clock;
  log: Log;
  /** The charts of the tasks that are launched here. */
  charts(): Pick<Runtime, "send" | "snapshotOf">;
  /** Makes a worktree of what a task changed on another server. */
  receiveChanges: Worktrees["receive"];
  /** Takes what happens on another server as if this host had said it. */
  onHostEvent(event: HostEvent): void;
}

/** Names the worktree of what was changed: the same, however often the end is read. */
const idOfChanges = (taskId: string, { epoch, seq }: Claim): string =>
  createHash("sha256").update(`${taskId} ${epoch} ${seq}`).digest("hex").slice(0, 8);

/** Has `take` take what is packed. What another server sends may be anything. */
const unpack = async <T>(packed: string, take: (bytes: Uint8Array) => Promise<Outcome<T>>): Promise<Outcome<T>> => {
  try {
    return await take(unpackPatch(packed));
  } catch (error) {
    return fail(errorMessage(error));
  }
};

/** Creates the reports, which tell a task's chart what the log of its run says. What the chart knows already, it refuses. */
export const createRunReports = ({ clock, log, charts, receiveChanges, onHostEvent, onSteps }: RunReportDeps) => {
  /** Makes a worktree of what the agent changed on the other server. */
  const changesIn = async (taskId: string, { patch }: Ended, claim: Claim): Promise<Worktree | undefined> => {
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

  /** Has the person here asked what the agent asks there, and asks no more of what was answered. */
  const reportRequests = (taskId: string, open: readonly UserRequest[]) => {
    const known = charts().snapshotOf(taskId)?.context.userRequests ?? [];
    const isIn = (requests: readonly UserRequest[], { id }: UserRequest) => requests.some((one) => one.id === id);
    for (const request of known.filter((one) => !isIn(open, one))) {
      onHostEvent({ type: "replied", sessionID: taskId, requestID: request.id });
    }
    for (const request of open.filter((one) => !isIn(known, one))) {
      onHostEvent({ type: "asked", sessionID: taskId, request });
    }
  };

  /** Tells the chart of each claim and of the end. What it knows already, it refuses. */
  const report = async ({ task: taskId, run }: RunName, found: RunLog): Promise<void> => {
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
    reportRequests(taskId, openRequestsIn(found));
    if (!ended) return;
    if (!ended.claim) return charts().send(taskId, { type: "CLOSED", at: clock.now() });
    const { claim, outcome, completedAt, result, error, receipt } = ended;
    const worktree = await changesIn(taskId, ended, claim);
    if (!isUnderWay()) return;
    const at = clock.now();
    if (ended.steps) onSteps(taskId, ended.steps, Math.min(at, Date.parse(ended.steps.lastUpdate)));
    const end = {
      ...{ claim, outcome, completedAt, result, error, receipt },
      ...besideText(ended),
      ...(worktree ? { worktree } : {}),
    };
    charts().send(taskId, { type: "REMOTE_ENDED", at, ...end });
  };

  return report;
};
