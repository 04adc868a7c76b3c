import type { HostEvent } from "../../../machines/host-events.ts";
import type { UserRequest } from "../../../machines/task/events.ts";
import { hasEnded, type Task } from "../../../task.ts";
import type { UserReply } from "../../../user-request.ts";
import type { HostFailure, HostResult } from "../../host/host.ts";
import { isDeleted } from "../../host/sessions.ts";
import { repeat, sleep } from "../../platform/clock.ts";
import { errorMessage, logFault } from "../../platform/log.ts";
import { fail, type Outcome } from "../../platform/result.ts";
import { lines, type OwnText, own, quoteLine, vouchFor } from "../../text/own-text.ts";
import { replyProblem, requestLine, requestMessage, requestToPassOn, SHORT_CHARS } from "../../text/request-text.ts";
import type { EngineContext } from "../context.ts";
import type { SessionNote, SessionNotes } from "./session-notes.ts";

/** A permission request or a question of a child session that has not been answered. */
interface OpenRequest {
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
  /** End what recurs for the request, and what is still to be done for it. */
  cancels: (() => void)[];
}

/** Milliseconds that a request may be open before a note says what a client of OpenCode may have shown, or not. */
const NOTE_DELAY_MS = 15_000;

/** Milliseconds between toasts about a request that is shown nowhere else while the user's session is busy. */
const TOAST_INTERVAL_MS = 60_000;

/**
 * Interval in milliseconds at which a session with an open request is checked for deletion. Another OpenCode process on
 * the same data may delete it without an event here, and its request would stay open forever. (The deletion of a session
 * that works is noticed when its model's call ends.)
 */
const SESSION_CHECK_INTERVAL_MS = 60_000;

/** Milliseconds before the first retry of a failed call. The pause doubles with each retry, up to `MAX_RETRY_MS`. */
const RETRY_MS = 5_000;
const MAX_RETRY_MS = 60_000;

/** Number of refused rejections after which no more are tried: the host is unlikely to change its mind. */
const MAX_REFUSALS = 3;

/** Number of times in a row that the host must not find a request before it counts as closed: once proves nothing. */
const NOT_FOUND_LIMIT = 2;

/** What a child reads when a request is rejected for the user. With a reason the host continues the child's turn. */
const NOBODY_ANSWERED = "Nobody has answered. Continue without it.";

/** What a child reads when the user rejects a permission without a reason. Without any, the host would end its turn. */
const USER_SAID_NO = "The user says no. Continue without it.";

/** Treats an exception in a call as a refusal: it would happen again. */
const asRefusal = (error: unknown): { ok: false; failure: HostFailure } => ({
  ok: false,
  failure: { kind: "refused", name: "Fault", message: errorMessage(error) },
});

const isNotFound = (result: HostResult<void>): boolean => !result.ok && result.failure.kind === "notFound";

/**
 * Creates what shows the permission requests and questions of child sessions to the user, passes on replies, and rejects
 * requests that nobody can answer, so that none stays open forever. Requests live in the host and end with its process, so
 * they are not stored.
 */
export const createUserRequests = (ctx: EngineContext, notes: SessionNotes) => {
  const { host, runtime, clock, log, store, bus, abort, sessionTree, options } = ctx;
  const { isHeadless } = options;
  const { timeout, command, seenThrough } = options.attention;
  const taskOf = (sessionID: string) => store.get(sessionID)?.task;
  const requests = new Map<string, OpenRequest>();
  let stopped = false;

  /** True until the request is closed or this process stops. */
  const isOpen = ({ request }: OpenRequest): boolean => !stopped && requests.has(request.id);

  const forget = ({ request, cancels }: OpenRequest) => {
    for (const cancel of cancels) cancel();
    requests.delete(request.id);
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

  const inBackground = (work: Promise<void>): void =>
    void work.catch(logFault(log, "failed to handle a user request of a task"));

  const rejectWhere = (matches: (open: OpenRequest) => boolean) => {
    for (const open of [...requests.values()].filter(matches)) inBackground(reject(open));
  };

  const toast = ({ request }: OpenRequest, task: Task, howToAnswer?: OwnText): Promise<void> => {
    const message = lines(requestLine(request, quoteLine(task.description, 100), SHORT_CHARS), howToAnswer);
    return ctx.toast({ message, variant: "info" });
  };

  const checkSessionExists = async (open: OpenRequest): Promise<void> => {
    const { sessionID } = open;
    const deleted = await isDeleted(host, sessionID);
    if (!deleted.ok) return;
    if (deleted.value && open.isSessionMissing) bus.emit("missedHostEvent", { type: "deleted", sessionID });
    open.isSessionMissing = deleted.value;
  };

  /**
   * Shows a request that OpenCode does not show: posts a note to the user's session, and repeats toasts until then. In an
   * editor nobody would see either: there the agent of that session is asked to pass it on.
   */
  const postNote = async (open: OpenRequest, task: Task): Promise<void> => {
    const stopToasts = repeat(clock, log, {
      every: TOAST_INTERVAL_MS,
      work: () => toast(open, task, own`In a terminal: ${vouchFor(command)} answer`),
      fault: "a toast could not be shown again",
    });
    open.cancels.push(stopToasts);
    const written: SessionNote =
      seenThrough === "editor"
        ? { text: requestToPassOn(task, open.request, command), synthetic: true, wakes: true }
        : { text: requestMessage(task, open.request, command), ignored: true };
    const isPosted = await notes.postWhenIdle(open.root, () => (isOpen(open) ? written : undefined));
    if (isPosted) stopToasts();
  };

  const onRequestAsked = (sessionID: string, request: UserRequest) => {
    const chain = sessionTree.ancestors(sessionID);
    const tasks = chain
      .flatMap((id) => (runtime.snapshotOf(id) ? (taskOf(id) ?? []) : []))
      .filter((task) => !hasEnded(task));
    const [nearest] = tasks;
    if (!nearest || requests.has(request.id)) return;
    const taskIds = tasks.map((task) => task.sessionID);
    const open: OpenRequest = {
      ...{ request, sessionID, taskIds, root: chain.at(-1) ?? sessionID },
      ...{ isRejecting: false, isRejectionRefused: false, isSessionMissing: false, cancels: [] },
    };
    requests.set(request.id, open);
    const stopSessionChecks = repeat(clock, log, {
      every: SESSION_CHECK_INTERVAL_MS,
      work: () => checkSessionExists(open),
      fault: "could not check whether a session with an open request still exists",
    });
    open.cancels.push(stopSessionChecks);
    const forAncestors = {
      ...request,
      what: `${request.what} (asked by ${sessionID}, a subagent of this task)`,
      isFromBelow: true,
    } as const;
    // The supervisor has already sent the event to the task that runs in the asking session itself.
    for (const taskId of taskIds.filter((id) => id !== sessionID)) {
      runtime.send(taskId, { type: "REQUEST_ASKED", at: clock.now(), request: forAncestors });
    }
    const isRemote = nearest.server !== undefined;
    // `opencode run` itself rejects permissions, but not questions, of child sessions that it saw being created; it hears
    // of none in a worktree.
    const runRejects =
      request.kind === "permission" &&
      chain.slice(0, -1).every(sessionTree.wasCreatedHere) &&
      nearest.worktree === undefined &&
      !isRemote;
    if (isHeadless && !runRejects) return inBackground(reject(open));
    if (timeout !== undefined) open.cancels.push(clock.after(timeout, () => inBackground(reject(open))));
    inBackground(toast(open, nearest));
    // OpenCode's terminal interface shows requests of the session's direct children only; a fork is nobody's child, and of
    // what another server's agent asks, OpenCode here knows nothing.
    const isDirect = !isRemote && chain.length <= 2 && !chain.some((id) => taskOf(id)?.isForked);
    if (!isDirect || seenThrough === "editor") return inBackground(postNote(open, nearest));
    // A terminal interface may be attached to this process. Who answers there soon is not notified twice.
    if (seenThrough === "clients") {
      open.cancels.push(clock.after(NOTE_DELAY_MS, () => inBackground(postNote(open, nearest))));
    }
  };

  /** Rejects a request of a session that became idle: it was aborted, yet the host keeps the request open. */
  const onSessionIdle = async (open: OpenRequest): Promise<void> => {
    while (isOpen(open)) {
      const busy = await host.busy();
      if (busy.ok) return busy.value.has(open.sessionID) ? undefined : reject(open);
      await sleep(clock, RETRY_MS);
    }
  };

  /** Aborts a deleted session and rejects its request: without the abort, it would keep waiting in the host. */
  const onAskingSessionDeleted = async (open: OpenRequest): Promise<void> => {
    await abort(open.sessionID);
    await reject(open);
  };

  return {
    /** Handles an event of the host: a new request, a reply to one, or the end of a session that made one. */
    onHostEvent: (event: HostEvent) => {
      if (event.type === "asked") onRequestAsked(event.sessionID, event.request);
      if (event.type === "replied") close(event.requestID);
      if (event.type !== "idle" && event.type !== "deleted") return;
      const onSessionEnd = event.type === "idle" ? onSessionIdle : onAskingSessionDeleted;
      for (const open of [...requests.values()]) {
        if (open.sessionID === event.sessionID) inBackground(onSessionEnd(open));
      }
    },
    /** Passes on a user's reply to a request of a task. */
    answer: async (taskId: string, reply: UserReply): Promise<Outcome<void>> => {
      const { requestId } = reply;
      const request = runtime.snapshotOf(taskId)?.context.userRequests.find(({ id }) => id === requestId);
      if (!request) {
        return fail(`Request ${requestId} of task ${taskId} is not open: it was answered, or the task went on.`);
      }
      const problem = replyProblem(request, reply);
      if (problem) return fail(problem);
      const send = () =>
        reply.reply === "reject"
          ? host.rejectUserRequest(request, reply.message ?? USER_SAID_NO)
          : host.answerUserRequest(request, reply);
      let replied = await send();
      if (isNotFound(replied)) {
        await sleep(clock, RETRY_MS);
        replied = await send();
      }
      const isClosed = isNotFound(replied);
      if (!replied.ok && !isClosed) {
        // An unconfirmed call may have had its effect all the same.
        const verb = replied.failure.kind === "unavailable" ? "confirm" : "take";
        return fail(`OpenCode did not ${verb} the answer: ${replied.failure.message}.`, "host");
      }
      close(requestId, taskId);
      if (isClosed) return fail(`Request ${requestId} of task ${taskId} is not open any more in OpenCode.`);
      return { ok: true, value: undefined };
    },
    /** Rejects the requests of tasks that have ended, or that another process has taken over or removed. */
    releaseTasks: (taskIds: readonly string[]) =>
      rejectWhere(({ taskIds: [nearest] }) => nearest !== undefined && taskIds.includes(nearest)),
    /** Stops handling requests. They stay open in the host. */
    stop: () => {
      stopped = true;
      for (const open of [...requests.values()]) forget(open);
    },
  };
};

export type UserRequests = ReturnType<typeof createUserRequests>;
