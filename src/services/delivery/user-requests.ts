import type { HostEvent } from "../../machines/supervisor/events.ts";
import type { PendingRequest } from "../../machines/task/events.ts";
import { hasEnded, type Task } from "../../task.ts";
import type { Answer } from "../../user-request.ts";
import type { Host, HostFailure, HostResult } from "../host/host.ts";
import { isDeleted } from "../host/is-deleted.ts";
import type { Clock } from "../platform/clock.ts";
import { repeat } from "../platform/interval.ts";
import { type Log, reasonOf } from "../platform/log.ts";
import { type Outcome, refuse } from "../platform/result.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { lines, type OwnText, own, quoteLine, vouchFor } from "../text/own-text.ts";
import { faultOf, IN_SHORT, requestLine, requestMessage } from "../text/user-request.ts";
import type { Asides } from "./session-notes.ts";

/** What attention is given with. */
export interface AttentionParts {
  host: Host;
  runtime: Runtime;
  asides: Asides;
  clock: Clock;
  log: Log;
  /** Aborts a session, as often as it takes. */
  abort(sessionID: string): Promise<void>;
  /** A session and those above it, nearest first; the last one is a person's own. */
  above(sessionID: string): string[];
  /** True for a session below another that was made while this process was there. */
  isNew(sessionID: string): boolean;
  taskOf(sessionID: string): Task | undefined;
  /** True where nobody can answer, as in `opencode run`. */
  isHeadless: boolean;
  /** Milliseconds after which a request that nobody answers is rejected; undefined: never. */
  timeout: number | undefined;
  /** How this plugin's command is called in a terminal. */
  command: string;
  /** A session that asks is not there any more, and nobody told of it. */
  onVanished(sessionID: string): void;
}

/**
 * Sees to it that a person learns of what children ask, and that nothing of it stays open for ever. The requests live in
 * the host, and die with its process: so does what is known of them here.
 */
export interface Attention {
  note(event: HostEvent): void;
  /** Answers what a task asks, for a person. */
  answer(taskId: string, answer: Answer): Promise<Outcome<void>>;
  /** Another process has these tasks, or has removed them: what asks for them here is stopped. */
  lose(taskIds: string[]): void;
  stop(): void;
}

/** A request that nobody has answered. */
interface Open {
  request: PendingRequest;
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
const AGAIN = 5_000;
const LONGEST = 60_000;

/** How often a host may refuse to reject a request: it is unlikely to change its mind. */
const MOST_REFUSALS = 3;

/** How often in a row a request must not be found before it counts as closed: one such answer proves nothing. */
const ABSENCES = 2;

/** Milliseconds between two toasts of a request that shows nowhere else while its conversation is busy. */
const TOASTED = 60_000;

/**
 * Milliseconds between two looks whether a session that asks is there. Another OpenCode on the same data may delete it:
 * no event of that comes here, and it would wait for ever. (One that works is heard of when its model's call ends.)
 */
const LOOKED = 60_000;

/** What a child is told when nobody answers. With words it goes on; without, the host ends its turn. */
const NOBODY = "Nobody has answered. Go on without it.";
const SAID_NO = "The user says no. Go on without it.";

const none = () => undefined;
/** A request as it begins: nothing was done about it yet. */
const asFirst = {
  isDismissed: false,
  isRefused: false,
  isMissing: false,
  callOffEnd: none,
  callOffToast: none,
  callOffLook: none,
};

/** A fault of ours would be the same again. */
const asRefusal = (error: unknown): { ok: false; failure: HostFailure } => ({
  ok: false,
  failure: { kind: "refused", name: "Fault", message: reasonOf(error) },
});

const isNotFound = (result: HostResult<void>): boolean => !result.ok && result.failure.kind === "notFound";

/** Nobody asks anything yet. */
export const createAttention = (parts: AttentionParts): Attention => {
  const { host, runtime, asides, clock, log, abort, above, isNew, taskOf, isHeadless, timeout, command, onVanished } =
    parts;
  const open = new Map<string, Open>();
  let stopped = false;

  const inBackground = (work: Promise<void>) => {
    work.catch((error) => log.error("a request of a child could not be seen to", { reason: reasonOf(error) }));
  };

  const isOpen = ({ request }: Open): boolean => !stopped && open.has(request.id);

  const forget = (asked: Open) => {
    asked.callOffEnd();
    asked.callOffToast();
    asked.callOffLook();
    open.delete(asked.request.id);
  };

  /** Lets those go on that the request held up. */
  const settled = (id: string, taskIds: string[]) => {
    for (const taskId of taskIds) {
      const asks = runtime.live(taskId)?.context.requests.some((request) => request.id === id);
      if (asks) runtime.send(taskId, { type: "REQUEST_ANSWERED", at: clock.now(), id });
    }
  };

  const conclude = (asked: Open) => {
    forget(asked);
    settled(asked.request.id, asked.taskIds);
  };

  const pause = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));

  /** True while a task of this process waits for the answer. */
  const holdsUp = ({ taskIds: [nearest] }: Open): boolean => {
    const live = nearest === undefined ? undefined : runtime.live(nearest);
    return live !== undefined && live.context.completedAt === undefined;
  };

  /**
   * Says no, as often as it takes; to a host that refuses, a few times. Then the request stays for a person to answer, as
   * long as it holds up a task.
   */
  const dismiss = async (asked: Open): Promise<void> => {
    if (asked.isRefused && !holdsUp(asked)) return conclude(asked);
    if (asked.isDismissed) return;
    asked.isDismissed = true;
    let refusals = 0;
    let absences = 0;
    for (let ms = AGAIN; isOpen(asked) && refusals < MOST_REFUSALS; ms = Math.min(2 * ms, LONGEST)) {
      const rejected = await host.reject(asked.request, NOBODY).catch(asRefusal);
      absences = isNotFound(rejected) ? absences + 1 : 0;
      if (rejected.ok || absences === ABSENCES) return conclude(asked);
      log.error("a request could not be rejected", { request: asked.request.id, reason: rejected.failure.message });
      if (rejected.failure.kind === "refused") refusals += 1;
      await pause(ms);
    }
    asked.isRefused = isOpen(asked);
    if (asked.isRefused && !holdsUp(asked)) conclude(asked);
  };

  const toast = async (asked: Open, task: Task, how?: OwnText): Promise<void> => {
    const message = lines(requestLine(asked.request, quoteLine(task.description, 100), IN_SHORT), how);
    const shown = await host.toast({ message, variant: "info" });
    if (!shown.ok) log.info("a toast could not be shown", { reason: shown.failure.message });
  };

  const look = async (asked: Open): Promise<void> => {
    const { sessionID } = asked;
    const deleted = await isDeleted(host, sessionID);
    if (!deleted.ok) return;
    if (deleted.value && asked.isMissing) onVanished(sessionID);
    asked.isMissing = deleted.value;
  };

  /** OpenCode does not show it: a message waits for the person in the conversation, and toasts remind until it is there. */
  const show = async (asked: Open, task: Task): Promise<void> => {
    asked.callOffToast = repeat(clock, log, {
      every: TOASTED,
      work: () => toast(asked, task, own`In a terminal: ${vouchFor(command)} answer`),
      fault: "a toast could not be shown again",
    });
    const text = requestMessage(task, asked.request, command);
    const isThere = await asides.leave(asked.root, () => (isOpen(asked) ? { text, ignored: true } : undefined));
    if (isThere) asked.callOffToast();
  };

  const onAsked = (sessionID: string, request: PendingRequest) => {
    const chain = above(sessionID);
    const tasks = chain.flatMap((id) => (runtime.live(id) ? (taskOf(id) ?? []) : [])).filter((task) => !hasEnded(task));
    const [nearest] = tasks;
    if (!nearest || open.has(request.id)) return;
    const taskIds = tasks.map((task) => task.sessionID);
    const root = chain.at(-1) ?? sessionID;
    const asked: Open = { request, sessionID, taskIds, root, ...asFirst };
    open.set(request.id, asked);
    asked.callOffLook = repeat(clock, log, {
      every: LOOKED,
      work: () => look(asked),
      fault: "a session that asks could not be looked for",
    });
    const below = { ...request, what: `${request.what} (asked by ${sessionID}, below this task)` };
    // The supervisor has passed it on to the task whose own session asks.
    for (const taskId of taskIds.filter((id) => id !== sessionID)) {
      runtime.send(taskId, { type: "REQUEST_ASKED", at: clock.now(), request: below });
    }
    // `opencode run` answers permissions by itself, those of the sessions that it saw made below its own; no questions.
    const runAnswers = request.kind === "permission" && chain.slice(0, -1).every(isNew);
    if (isHeadless && !runAnswers) return inBackground(dismiss(asked));
    if (timeout !== undefined) asked.callOffEnd = clock.after(timeout, () => inBackground(dismiss(asked)));
    inBackground(toast(asked, nearest));
    // The interface shows what a session's direct children ask, and a fork is nobody's child.
    if (chain.length > 2 || chain.some((id) => taskOf(id)?.isForked)) inBackground(show(asked, nearest));
  };

  /** Nobody waits for an answer in a session that rests: it was aborted. The host keeps the request listed all the same. */
  const onRest = async (asked: Open): Promise<void> => {
    while (isOpen(asked)) {
      const busy = await host.busy();
      if (busy.ok) return busy.value.has(asked.sessionID) ? undefined : dismiss(asked);
      await pause(AGAIN);
    }
  };

  /** A deleted session works on in the host, and waits on for its answer, until it is aborted. */
  const onGone = async (asked: Open): Promise<void> => {
    await abort(asked.sessionID);
    await dismiss(asked);
  };

  const those = (isMeant: (asked: Open) => boolean): Open[] => [...open.values()].filter(isMeant);

  const unsubscribe = runtime.subscribe((task) => {
    if (!hasEnded(task)) return;
    for (const asked of those(({ taskIds }) => taskIds[0] === task.sessionID)) inBackground(dismiss(asked));
  });

  const answer: Attention["answer"] = async (taskId, given) => {
    const { requestId } = given;
    const request = runtime.live(taskId)?.context.requests.find(({ id }) => id === requestId);
    if (!request) {
      return refuse(`Request ${requestId} of task ${taskId} is not open: it was answered, or the task went on.`);
    }
    const fault = faultOf(request, given);
    if (fault) return refuse(fault);
    const reply = () =>
      given.reply === "reject" ? host.reject(request, given.message ?? SAID_NO) : host.answer(request, given);
    let replied = await reply();
    if (isNotFound(replied)) {
      await pause(AGAIN);
      replied = await reply();
    }
    const isGone = isNotFound(replied);
    if (!replied.ok && !isGone) {
      // No answer to the call is no proof that it was not done.
      const verb = replied.failure.kind === "unavailable" ? "confirm" : "take";
      return refuse(`OpenCode did not ${verb} the answer: ${replied.failure.message}.`, "host");
    }
    const asked = open.get(requestId);
    if (asked) conclude(asked);
    else settled(requestId, [taskId]);
    if (isGone) return refuse(`Request ${requestId} of task ${taskId} is not open any more in OpenCode.`);
    return { ok: true, value: undefined };
  };

  return {
    note: (event) => {
      if (event.type === "asked") onAsked(event.sessionID, event.request);
      if (event.type === "replied")
        for (const asked of those(({ request }) => request.id === event.requestID)) conclude(asked);
      const see = event.type === "idle" ? onRest : event.type === "deleted" ? onGone : undefined;
      if (see) for (const asked of those(({ sessionID }) => sessionID === event.sessionID)) inBackground(see(asked));
    },
    answer,
    lose: (taskIds) => {
      const isLost = (asked: Open) => asked.taskIds[0] !== undefined && taskIds.includes(asked.taskIds[0]);
      for (const asked of those(isLost)) inBackground(dismiss(asked));
    },
    stop: () => {
      stopped = true;
      unsubscribe();
      for (const asked of those(() => true)) forget(asked);
    },
  };
};
