import type { HostEvent } from "../../machines/supervisor/events.ts";
import type { UserRequest } from "../../machines/task/events.ts";
import { hasEnded, type Task } from "../../task.ts";
import type { UserReply } from "../../user-request.ts";
import type { Host, HostFailure, HostResult } from "../host/host.ts";
import { isDeleted } from "../host/session-calls.ts";
import { type Clock, sleep } from "../platform/clock.ts";
import { repeat } from "../platform/interval.ts";
import { errorMessage, type Log } from "../platform/log.ts";
import { fail, type Outcome } from "../platform/result.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { lines, type OwnText, own, quoteLine, vouchFor } from "../text/own-text.ts";
import { answerProblem, requestLine, requestMessage, SHORT_CHARS } from "../text/user-request.ts";
import type { SessionNotes } from "./session-notes.ts";

/** What attention is given with. */
export interface UserRequestsDeps {
  host: Host;
  runtime: Runtime;
  notes: SessionNotes;
  clock: Clock;
  log: Log;
  /** Aborts a session, as often as it takes. */
  abort(sessionID: string): Promise<void>;
  /** A session and those above it, nearest first; the last one is a person's own. */
  sessionChain(sessionID: string): string[];
  /** True for a session below another that was made while this process was there. */
  wasCreatedHere(sessionID: string): boolean;
  taskOf(sessionID: string): Task | undefined;
  /** True where nobody can answer, as in `opencode run`. */
  isHeadless: boolean;
  /** Milliseconds after which a request that nobody answers is rejected; undefined: never. */
  timeout: number | undefined;
  /** How this plugin's command is called in a terminal. */
  command: string;
  /** A session that asks is not there any more, and nobody told of it. */
  onSessionDeleted(sessionID: string): void;
}

/**
 * Sees to it that a person learns of what children ask, and that nothing of it stays open for ever. The requests live in
 * the host, and die with its process: so does what is known of them here.
 */
export interface UserRequests {
  onHostEvent(event: HostEvent): void;
  /** Answers what a task asks, for a person. */
  answer(taskId: string, answer: UserReply): Promise<Outcome<void>>;
  /** Another process has these tasks, or has removed them: what asks for them here is stopped. */
  releaseTasks(taskIds: string[]): void;
  stop(): void;
}

/** A request that nobody has answered. */
interface OpenUserRequest {
  request: UserRequest;
  /** The session that asks. */
  sessionID: string;
  /** The tasks that are held up by it, nearest first. */
  taskIds: string[];
  /** The session that a person looks at. */
  root: string;
  isDismissed: boolean;
  /** The host refused to reject it so often that it is not asked any more: a person may still answer. */
  isRefused: boolean;
  /** The host did not find the session when it was looked for last. */
  isMissing: boolean;
  /** Calls off the timer of `attention.timeout`. */
  callOffEnd(): void;
  /** Calls off further toasts. */
  callOffToast(): void;
  /** Calls off further looks whether the session is there. */
  callOffLook(): void;
}

/** Milliseconds to the first further try of a rejection that failed; each pause is twice the one before, up to `LONGEST`. */
const RETRY_MS = 5_000;
const MAX_RETRY_MS = 60_000;

/** How often a host may refuse to reject a request: it is unlikely to change its mind. */
const MAX_REFUSALS = 3;

/** How often in a row a request must not be found before it counts as closed: one such answer proves nothing. */
const NOT_FOUND_LIMIT = 2;

/** Milliseconds between two toasts of a request that shows nowhere else while its conversation is busy. */
const TOAST_INTERVAL_MS = 60_000;

/**
 * Milliseconds between two looks whether a session that asks is there. Another OpenCode on the same data may delete it:
 * no event of that comes here, and it would wait for ever. (One that works is heard of when its model's call ends.)
 */
const SESSION_CHECK_INTERVAL_MS = 60_000;

/** What a child is told when nobody answers. With words it goes on; without, the host ends its turn. */
const NOBODY = "Nobody has answered. Go on without it.";
const SAID_NO = "The user says no. Go on without it.";

const none = () => undefined;
/** A request as it begins: nothing was done about it yet. */
const INITIAL = {
  isDismissed: false,
  isRefused: false,
  isMissing: false,
  callOffEnd: none,
  callOffToast: none,
  callOffLook: none,
};

/** A fault of ours would be the same again. */
const asFailure = (error: unknown): { ok: false; failure: HostFailure } => ({
  ok: false,
  failure: { kind: "refused", name: "Fault", message: errorMessage(error) },
});

const isNotFound = (result: HostResult<void>): boolean => !result.ok && result.failure.kind === "notFound";

/** Nobody asks anything yet. */
export const createUserRequests = (deps: UserRequestsDeps): UserRequests => {
  const {
    host,
    runtime,
    notes,
    clock,
    log,
    abort,
    sessionChain,
    wasCreatedHere,
    taskOf,
    isHeadless,
    timeout,
    command,
    onSessionDeleted: onVanished,
  } = deps;
  const open = new Map<string, OpenUserRequest>();
  let stopped = false;

  const inBackground = (work: Promise<void>) => {
    work.catch((error) => log.error("a request of a child could not be seen to", { reason: errorMessage(error) }));
  };

  const isOpen = ({ request }: OpenUserRequest): boolean => !stopped && open.has(request.id);

  const forget = (asked: OpenUserRequest) => {
    asked.callOffEnd();
    asked.callOffToast();
    asked.callOffLook();
    open.delete(asked.request.id);
  };

  /** Lets those go on that the request held up. */
  const resumeTasks = (id: string, taskIds: string[]) => {
    for (const taskId of taskIds) {
      const asks = runtime.snapshotOf(taskId)?.context.userRequests.some((request) => request.id === id);
      if (asks) runtime.send(taskId, { type: "REQUEST_ANSWERED", at: clock.now(), id });
    }
  };

  const close = (asked: OpenUserRequest) => {
    forget(asked);
    resumeTasks(asked.request.id, asked.taskIds);
  };

  /** True while a task of this process waits for the answer. */
  const holdsUp = ({ taskIds: [nearest] }: OpenUserRequest): boolean => {
    const live = nearest === undefined ? undefined : runtime.snapshotOf(nearest);
    return live !== undefined && live.context.completedAt === undefined;
  };

  /**
   * Says no, as often as it takes; to a host that refuses, a few times. Then the request stays for a person to answer, as
   * long as it holds up a task.
   */
  const dismiss = async (asked: OpenUserRequest): Promise<void> => {
    if (asked.isRefused && !holdsUp(asked)) return close(asked);
    if (asked.isDismissed) return;
    asked.isDismissed = true;
    let refusals = 0;
    let absences = 0;
    for (let ms = RETRY_MS; isOpen(asked) && refusals < MAX_REFUSALS; ms = Math.min(2 * ms, MAX_RETRY_MS)) {
      const rejected = await host.rejectUserRequest(asked.request, NOBODY).catch(asFailure);
      absences = isNotFound(rejected) ? absences + 1 : 0;
      if (rejected.ok || absences === NOT_FOUND_LIMIT) return close(asked);
      log.error("a request could not be rejected", { request: asked.request.id, reason: rejected.failure.message });
      if (rejected.failure.kind === "refused") refusals += 1;
      await sleep(clock, ms);
    }
    asked.isRefused = isOpen(asked);
    if (asked.isRefused && !holdsUp(asked)) close(asked);
  };

  const toast = async (asked: OpenUserRequest, task: Task, how?: OwnText): Promise<void> => {
    const message = lines(requestLine(asked.request, quoteLine(task.description, 100), SHORT_CHARS), how);
    const shown = await host.toast({ message, variant: "info" });
    if (!shown.ok) log.info("a toast could not be shown", { reason: shown.failure.message });
  };

  const checkSessionExists = async (asked: OpenUserRequest): Promise<void> => {
    const { sessionID } = asked;
    const deleted = await isDeleted(host, sessionID);
    if (!deleted.ok) return;
    if (deleted.value && asked.isMissing) onVanished(sessionID);
    asked.isMissing = deleted.value;
  };

  /** OpenCode does not show it: a message waits for the person in the conversation, and toasts remind until it is there. */
  const show = async (asked: OpenUserRequest, task: Task): Promise<void> => {
    asked.callOffToast = repeat(clock, log, {
      every: TOAST_INTERVAL_MS,
      work: () => toast(asked, task, own`In a terminal: ${vouchFor(command)} answer`),
      fault: "a toast could not be shown again",
    });
    const text = requestMessage(task, asked.request, command);
    const isThere = await notes.postWhenIdle(asked.root, () => (isOpen(asked) ? { text, ignored: true } : undefined));
    if (isThere) asked.callOffToast();
  };

  const onAsked = (sessionID: string, request: UserRequest) => {
    const chain = sessionChain(sessionID);
    const tasks = chain
      .flatMap((id) => (runtime.snapshotOf(id) ? (taskOf(id) ?? []) : []))
      .filter((task) => !hasEnded(task));
    const [nearest] = tasks;
    if (!nearest || open.has(request.id)) return;
    const taskIds = tasks.map((task) => task.sessionID);
    const root = chain.at(-1) ?? sessionID;
    const asked: OpenUserRequest = { request, sessionID, taskIds, root, ...INITIAL };
    open.set(request.id, asked);
    asked.callOffLook = repeat(clock, log, {
      every: SESSION_CHECK_INTERVAL_MS,
      work: () => checkSessionExists(asked),
      fault: "a session that asks could not be looked for",
    });
    const below = { ...request, what: `${request.what} (asked by ${sessionID}, below this task)` };
    // The supervisor has passed it on to the task whose own session asks.
    for (const taskId of taskIds.filter((id) => id !== sessionID)) {
      runtime.send(taskId, { type: "REQUEST_ASKED", at: clock.now(), request: below });
    }
    // `opencode run` answers permissions by itself, those of the sessions that it saw made below its own; no questions.
    const runAnswers = request.kind === "permission" && chain.slice(0, -1).every(wasCreatedHere);
    if (isHeadless && !runAnswers) return inBackground(dismiss(asked));
    if (timeout !== undefined) asked.callOffEnd = clock.after(timeout, () => inBackground(dismiss(asked)));
    inBackground(toast(asked, nearest));
    // The interface shows what a session's direct children ask, and a fork is nobody's child.
    if (chain.length > 2 || chain.some((id) => taskOf(id)?.isForked)) inBackground(show(asked, nearest));
  };

  /** Nobody waits for an answer in a session that rests: it was aborted. The host keeps the request listed all the same. */
  const onRest = async (asked: OpenUserRequest): Promise<void> => {
    while (isOpen(asked)) {
      const busy = await host.busy();
      if (busy.ok) return busy.value.has(asked.sessionID) ? undefined : dismiss(asked);
      await sleep(clock, RETRY_MS);
    }
  };

  /** A deleted session works on in the host, and waits on for its answer, until it is aborted. */
  const onGone = async (asked: OpenUserRequest): Promise<void> => {
    await abort(asked.sessionID);
    await dismiss(asked);
  };

  const openRequestsWhere = (isMeant: (asked: OpenUserRequest) => boolean): OpenUserRequest[] =>
    [...open.values()].filter(isMeant);

  const unsubscribe = runtime.subscribe((task) => {
    if (!hasEnded(task)) return;
    for (const asked of openRequestsWhere(({ taskIds }) => taskIds[0] === task.sessionID)) inBackground(dismiss(asked));
  });

  const answer: UserRequests["answer"] = async (taskId, given) => {
    const { requestId } = given;
    const request = runtime.snapshotOf(taskId)?.context.userRequests.find(({ id }) => id === requestId);
    if (!request) {
      return fail(`Request ${requestId} of task ${taskId} is not open: it was answered, or the task went on.`);
    }
    const fault = answerProblem(request, given);
    if (fault) return fail(fault);
    const reply = () =>
      given.reply === "reject"
        ? host.rejectUserRequest(request, given.message ?? SAID_NO)
        : host.answerUserRequest(request, given);
    let replied = await reply();
    if (isNotFound(replied)) {
      await sleep(clock, RETRY_MS);
      replied = await reply();
    }
    const isGone = isNotFound(replied);
    if (!replied.ok && !isGone) {
      // No answer to the call is no proof that it was not done.
      const verb = replied.failure.kind === "unavailable" ? "confirm" : "take";
      return fail(`OpenCode did not ${verb} the answer: ${replied.failure.message}.`, "host");
    }
    const asked = open.get(requestId);
    if (asked) close(asked);
    else resumeTasks(requestId, [taskId]);
    if (isGone) return fail(`Request ${requestId} of task ${taskId} is not open any more in OpenCode.`);
    return { ok: true, value: undefined };
  };

  return {
    onHostEvent: (event) => {
      if (event.type === "asked") onAsked(event.sessionID, event.request);
      if (event.type === "replied")
        for (const asked of openRequestsWhere(({ request }) => request.id === event.requestID)) close(asked);
      const see = event.type === "idle" ? onRest : event.type === "deleted" ? onGone : undefined;
      if (see)
        for (const asked of openRequestsWhere(({ sessionID }) => sessionID === event.sessionID))
          inBackground(see(asked));
    },
    answer,
    releaseTasks: (taskIds) => {
      const isLost = (asked: OpenUserRequest) => asked.taskIds[0] !== undefined && taskIds.includes(asked.taskIds[0]);
      for (const asked of openRequestsWhere(isLost)) inBackground(dismiss(asked));
    },
    stop: () => {
      stopped = true;
      unsubscribe();
      for (const asked of openRequestsWhere(() => true)) forget(asked);
    },
  };
};
