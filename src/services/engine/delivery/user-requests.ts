import type { HostEvent } from "../../../machines/host-events.ts";
import type { UserRequest } from "../../../machines/task/events.ts";
import { hasEnded, type Task } from "../../../task.ts";
import type { UserReply } from "../../../user-request.ts";
import { isDeleted } from "../../host/sessions.ts";
import { repeat, sleep } from "../../platform/clock.ts";
import { errorMessage } from "../../platform/log.ts";
import { fail, type Outcome } from "../../platform/result.ts";
import { lines, type OwnText, own, quoteLine, vouchFor } from "../../text/own-text.ts";
import { replyProblem, requestLine, requestMessage, requestToPassOn, SHORT_CHARS } from "../../text/request-text.ts";
import type { EngineContext } from "../context.ts";
import { createOpenRequests, isNotFound, type OpenRequest, RETRY_MS } from "./open-user-requests.ts";
import type { SessionNote, SessionNotes } from "./session-notes.ts";

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

/** What a child reads when the user rejects a permission without a reason. Without any, the host would end its turn. */
const USER_SAID_NO = "The user says no. Continue without it.";

/**
 * Creates what shows the permission requests and questions of child sessions to the user, passes on replies, and rejects
 * requests that nobody can answer, so that none stays open forever.
 */
export const createUserRequests = (ctx: EngineContext, notes: SessionNotes) => {
  const { host, runtime, clock, log, store, bus, abort, sessionTree, options } = ctx;
  const { isHeadless } = options;
  const { timeout, command, seenThrough } = options.attention;
  const taskOf = (sessionID: string) => store.get(sessionID)?.task;
  const requests = createOpenRequests(host, runtime, clock, log);

  const inBackground = (work: Promise<void>) => {
    work.catch((error) => log.error("failed to handle a user request of a task", { reason: errorMessage(error) }));
  };

  const toast = async (open: OpenRequest, task: Task, howToAnswer?: OwnText): Promise<void> => {
    const message = lines(requestLine(open.request, quoteLine(task.description, 100), SHORT_CHARS), howToAnswer);
    const shown = await host.toast({ message, variant: "info" });
    if (!shown.ok) log.info("a toast could not be shown", { reason: shown.failure.message });
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
    open.stopToasts = repeat(clock, log, {
      every: TOAST_INTERVAL_MS,
      work: () => toast(open, task, own`In a terminal: ${vouchFor(command)} answer`),
      fault: "a toast could not be shown again",
    });
    const written: SessionNote =
      seenThrough === "editor"
        ? { text: requestToPassOn(task, open.request, command), synthetic: true, wakes: true }
        : { text: requestMessage(task, open.request, command), ignored: true };
    const note = () => (requests.isOpen(open) ? written : undefined);
    const isPosted = await notes.postWhenIdle(open.root, note);
    if (isPosted) open.stopToasts();
  };

  const onRequestAsked = (sessionID: string, request: UserRequest) => {
    const chain = sessionTree.ancestors(sessionID);
    const tasks = chain
      .flatMap((id) => (runtime.snapshotOf(id) ? (taskOf(id) ?? []) : []))
      .filter((task) => !hasEnded(task));
    const [nearest] = tasks;
    if (!nearest || requests.has(request.id)) return;
    const taskIds = tasks.map((task) => task.sessionID);
    const open = requests.add({ request, sessionID, taskIds, root: chain.at(-1) ?? sessionID });
    open.stopSessionChecks = repeat(clock, log, {
      every: SESSION_CHECK_INTERVAL_MS,
      work: () => checkSessionExists(open),
      fault: "could not check whether a session with an open request still exists",
    });
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
    if (isHeadless && !runRejects) return inBackground(requests.reject(open));
    if (timeout !== undefined) open.cancelTimeout = clock.after(timeout, () => inBackground(requests.reject(open)));
    inBackground(toast(open, nearest));
    // OpenCode's terminal interface shows requests of the session's direct children only; a fork is nobody's child, and of
    // what another server's agent asks, OpenCode here knows nothing.
    const isDirect = !isRemote && chain.length <= 2 && !chain.some((id) => taskOf(id)?.isForked);
    if (!isDirect || seenThrough === "editor") return inBackground(postNote(open, nearest));
    // A terminal interface may be attached to this process. Who answers there soon is not notified twice.
    if (seenThrough === "clients") {
      open.cancelNote = clock.after(NOTE_DELAY_MS, () => inBackground(postNote(open, nearest)));
    }
  };

  /** Rejects a request of a session that became idle: it was aborted, yet the host keeps the request open. */
  const onSessionIdle = async (open: OpenRequest): Promise<void> => {
    while (requests.isOpen(open)) {
      const busy = await host.busy();
      if (busy.ok) return busy.value.has(open.sessionID) ? undefined : requests.reject(open);
      await sleep(clock, RETRY_MS);
    }
  };

  /** Aborts a deleted session and rejects its request: without the abort, it would keep waiting in the host. */
  const onAskingSessionDeleted = async (open: OpenRequest): Promise<void> => {
    await abort(open.sessionID);
    await requests.reject(open);
  };

  const rejectWhere = (matches: (open: OpenRequest) => boolean) => {
    for (const open of requests.where(matches)) inBackground(requests.reject(open));
  };

  const unsubscribe = runtime.subscribe((task) => {
    if (hasEnded(task)) rejectWhere(({ taskIds }) => taskIds[0] === task.sessionID);
  });

  /** Passes on a user's reply to a request of a task. */
  const answer = async (taskId: string, reply: UserReply): Promise<Outcome<void>> => {
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
    requests.close(requestId, taskId);
    if (isClosed) return fail(`Request ${requestId} of task ${taskId} is not open any more in OpenCode.`);
    return { ok: true, value: undefined };
  };

  return {
    /** Handles an event of the host: a new request, a reply to one, or the end of a session that made one. */
    onHostEvent: (event: HostEvent) => {
      if (event.type === "asked") onRequestAsked(event.sessionID, event.request);
      if (event.type === "replied") requests.close(event.requestID);
      if (event.type !== "idle" && event.type !== "deleted") return;
      const onSessionEnd = event.type === "idle" ? onSessionIdle : onAskingSessionDeleted;
      for (const open of requests.where(({ sessionID }) => sessionID === event.sessionID)) {
        inBackground(onSessionEnd(open));
      }
    },
    answer,
    /** Rejects the requests of tasks that another process has taken over or removed. */
    releaseTasks: (lost: readonly string[]) =>
      rejectWhere(({ taskIds: [nearest] }) => nearest !== undefined && lost.includes(nearest)),
    /** Stops handling requests. They stay open in the host. */
    stop: () => {
      unsubscribe();
      requests.stop();
    },
  };
};

export type UserRequests = ReturnType<typeof createUserRequests>;
