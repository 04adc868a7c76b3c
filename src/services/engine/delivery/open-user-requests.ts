import type { UserRequest } from "../../../machines/task/events.ts";
import type { Host, HostFailure, HostResult } from "../../host/host.ts";
import { type Clock, sleep } from "../../platform/clock.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import type { Runtime } from "../../runtime/runtime.ts";

/** A permission request or a question of a child session that has not been answered. */
export interface OpenRequest {
  request: UserRequest;
  /** The session that made the request. */
  sessionID: string;
  /** The tasks that cannot continue because of it, nearest first. */
  taskIds: string[];
  /** The session that the user looks at. */
  root: string;
  /** True once its rejection was started, so that it is not started twice. */
  isRejecting: boolean;
  /** True if the host refused the rejection so often that it is not repeated. The user may still answer the request. */
  isRejectionRefused: boolean;
  /** True if the host did not find the session at the last check. */
  isSessionMissing: boolean;
  /** Cancels the timer that rejects the request after `attention.timeout`. */
  cancelTimeout(): void;
  /** Cancels the timer after which a note is posted. */
  cancelNote(): void;
  /** Stops repeating the toast. */
  stopToasts(): void;
  /** Stops checking whether the session still exists. */
  stopSessionChecks(): void;
}

/** Milliseconds before the first retry of a failed call. The pause doubles with each retry, up to `MAX_RETRY_MS`. */
export const RETRY_MS = 5_000;
const MAX_RETRY_MS = 60_000;

/** Number of refused rejections after which no more are tried: the host is unlikely to change its mind. */
const MAX_REFUSALS = 3;

/** Number of times in a row that the host must not find a request before it counts as closed: once proves nothing. */
const NOT_FOUND_LIMIT = 2;

/** What a child reads when a request is rejected for the user. With a reason the host continues the child's turn. */
const NOBODY_ANSWERED = "Nobody has answered. Continue without it.";

const none = () => undefined;
const INITIAL = {
  isRejecting: false,
  isRejectionRefused: false,
  isSessionMissing: false,
  cancelTimeout: none,
  cancelNote: none,
  stopToasts: none,
  stopSessionChecks: none,
};

/** Treats an exception in a call as a refusal: it would happen again. */
const asRefusal = (error: unknown): { ok: false; failure: HostFailure } => ({
  ok: false,
  failure: { kind: "refused", name: "Fault", message: errorMessage(error) },
});

/** True when the host does not know the request, session or message that a call was about. */
export const isNotFound = (result: HostResult<void>): boolean => !result.ok && result.failure.kind === "notFound";

/** Creates the registry of open requests. They live in the host and end with its process, so they are not stored. */
export const createOpenRequests = (host: Host, runtime: Runtime, clock: Clock, log: Log) => {
  const requests = new Map<string, OpenRequest>();
  let stopped = false;

  /** True until the request is closed or this process stops. */
  const isOpen = ({ request }: OpenRequest): boolean => !stopped && requests.has(request.id);

  const forget = (open: OpenRequest) => {
    open.cancelTimeout();
    open.cancelNote();
    open.stopToasts();
    open.stopSessionChecks();
    requests.delete(open.request.id);
  };

  /**
   * Closes a request that was answered and lets its tasks continue.
   * @param taskId a task to continue if the request is not known here
   */
  const close = (requestId: string, taskId?: string) => {
    const open = requests.get(requestId);
    if (open) forget(open);
    for (const id of open?.taskIds ?? (taskId === undefined ? [] : [taskId])) {
      const isWaiting = runtime.snapshotOf(id)?.context.userRequests.some((request) => request.id === requestId);
      if (isWaiting) runtime.send(id, { type: "REQUEST_ANSWERED", at: clock.now(), id: requestId });
    }
  };

  /** True while a task of this process needs the answer. */
  const isNeeded = ({ taskIds: [nearest] }: OpenRequest): boolean => {
    const live = nearest === undefined ? undefined : runtime.snapshotOf(nearest);
    return live !== undefined && live.context.completedAt === undefined;
  };

  /**
   * Rejects a request, retrying until it is closed. If the host keeps refusing, the request stays open for the user, as
   * long as a task needs the answer.
   */
  const reject = async (open: OpenRequest): Promise<void> => {
    const { id } = open.request;
    if (open.isRejectionRefused && !isNeeded(open)) return close(id);
    if (open.isRejecting) return;
    open.isRejecting = true;
    let refusals = 0;
    let timesNotFound = 0;
    for (let pause = RETRY_MS; isOpen(open) && refusals < MAX_REFUSALS; pause = Math.min(2 * pause, MAX_RETRY_MS)) {
      const rejected = await host.rejectUserRequest(open.request, NOBODY_ANSWERED).catch(asRefusal);
      timesNotFound = isNotFound(rejected) ? timesNotFound + 1 : 0;
      if (rejected.ok || timesNotFound === NOT_FOUND_LIMIT) return close(id);
      log.error("could not reject a user request", { request: id, reason: rejected.failure.message });
      if (rejected.failure.kind === "refused") refusals += 1;
      await sleep(clock, pause);
    }
    open.isRejectionRefused = isOpen(open);
    if (open.isRejectionRefused && !isNeeded(open)) close(id);
  };

  /** Returns the open requests that match. */
  const where = (matches: (open: OpenRequest) => boolean) => [...requests.values()].filter(matches);

  return {
    has: (requestId: string): boolean => requests.has(requestId),
    /** Adds a request for which nothing was done yet. */
    add: (request: Pick<OpenRequest, "request" | "sessionID" | "taskIds" | "root">): OpenRequest => {
      const open: OpenRequest = { ...request, ...INITIAL };
      requests.set(request.request.id, open);
      return open;
    },
    where,
    isOpen,
    close,
    reject,
    /** Forgets all requests. */
    stop: () => {
      stopped = true;
      for (const open of where(() => true)) forget(open);
    },
  };
};
