import type { Answer } from "../answer.ts";
import type { HostEvent } from "../machines/supervisor-events.ts";
import type { PendingRequest } from "../machines/task-events.ts";
import { hasEnded, type Task } from "../task.ts";
import { faultOf, requestLine, requestMessage } from "./asked.ts";
import type { Clock } from "./clock.ts";
import type { Host } from "./host.ts";
import type { Leaving } from "./leaving.ts";
import type { Lineage } from "./lineage.ts";
import { type Log, reasonOf } from "./log.ts";
import { type Outcome, refuse } from "./outcome.ts";
import type { Runtime } from "./runtime.ts";
import type { Store } from "./store/store.ts";

/** What attention is given with. */
export interface AttentionParts {
  host: Host;
  store: Store;
  runtime: Runtime;
  lineage: Lineage;
  leaving: Leaving;
  clock: Clock;
  log: Log;
  /** True where nobody can answer what the host does not see, as in `opencode run`. */
  isHeadless: boolean;
  /** Milliseconds after which a request that nobody answers is rejected; undefined: never. */
  timeout: number | undefined;
}

/**
 * Sees to it that a person learns of what children ask, and that nothing of it stays open for ever. The requests live in
 * the host, and die with its process: so does what is known of them here.
 */
export interface Attention {
  note(event: HostEvent): void;
  /** Answers what a task asks, for a person. */
  answer(taskId: string, answer: Answer): Promise<Outcome<void>>;
  stop(): void;
}

/** A request that nobody has answered. */
interface Open {
  request: PendingRequest;
  /** The tasks that are held up by it, nearest first. */
  taskIds: string[];
  /** The session that a person looks at. */
  root: string;
  /** Calls off the timer of `attention.timeout`. */
  callOff(): void;
}

/** Milliseconds to another try, where the host fails. */
const AGAIN = 5_000;

const nothing = () => undefined;

/** Nobody asks anything yet. */
export const createAttention = (parts: AttentionParts): Attention => {
  const { host, store, runtime, lineage, leaving, clock, log, isHeadless, timeout } = parts;
  const open = new Map<string, Open>();
  let stopped = false;

  const inBackground = (work: Promise<void>) => {
    work.catch((error) => log.error("a request of a child could not be seen to", { reason: reasonOf(error) }));
  };

  const isOpen = ({ request }: Open): boolean => !stopped && open.has(request.id);

  const taskOf = (taskId: string): Task | undefined => store.get(taskId)?.task;

  /** The request is settled, however: those that it holds up go on. */
  const conclude = ({ request: { id }, taskIds, callOff }: Open) => {
    callOff();
    open.delete(id);
    for (const taskId of taskIds) {
      const asks = runtime.live(taskId)?.context.requests.some((request) => request.id === id);
      if (asks) runtime.send(taskId, { type: "REQUEST_ANSWERED", at: clock.now(), id });
    }
  };

  const pause = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));

  /** Says no, as often as it takes. */
  const dismiss = async (asked: Open): Promise<void> => {
    while (isOpen(asked)) {
      const rejected = await host.reject(asked.request);
      if (rejected.ok || rejected.failure.kind === "notFound") return conclude(asked);
      log.error("a request could not be rejected", { request: asked.request.id, reason: rejected.failure.message });
      await pause(AGAIN);
    }
  };

  const show = async (asked: Open, task: Task): Promise<void> => {
    const shown = await host.toast({ message: `"${task.description}" ${requestLine(asked.request)}`, variant: "info" });
    if (!shown.ok) log.info("a toast could not be shown", { reason: shown.failure.message });
  };

  const onAsked = (sessionID: string, request: PendingRequest) => {
    const chain = lineage.above(sessionID);
    const tasks = chain.flatMap((id) => (runtime.live(id) ? (taskOf(id) ?? []) : [])).filter((task) => !hasEnded(task));
    const [nearest] = tasks;
    if (!nearest || open.has(request.id)) return;
    const asked: Open = {
      request,
      taskIds: tasks.map((task) => task.sessionID),
      root: chain.at(-1) ?? sessionID,
      callOff: nothing,
    };
    open.set(request.id, asked);
    const below = { ...request, what: `${request.what} (asked by ${sessionID}, below this task)` };
    // The supervisor has passed it on to the task whose own session asks.
    for (const taskId of asked.taskIds.filter((id) => id !== sessionID)) {
      runtime.send(taskId, { type: "REQUEST_ASKED", at: clock.now(), request: below });
    }
    const isFork = chain.some((id) => taskOf(id)?.isForked);
    if (isHeadless && isFork) return inBackground(dismiss(asked));
    if (timeout !== undefined) asked.callOff = clock.after(timeout, () => inBackground(dismiss(asked)));
    inBackground(show(asked, nearest));
    // The interface shows what a session's direct children ask, and a fork is nobody's child.
    if (chain.length <= 2 && !isFork) return;
    const message = { text: requestMessage(nearest, request), ignored: true } as const;
    inBackground(leaving.leave(asked.root, message, () => isOpen(asked)));
  };

  const unsubscribe = runtime.subscribe((task) => {
    if (!hasEnded(task)) return;
    for (const asked of [...open.values()]) {
      // The host keeps it listed for ever otherwise.
      if (asked.taskIds[0] === task.sessionID) inBackground(dismiss(asked));
    }
  });

  const answer: Attention["answer"] = async (taskId, given) => {
    const requests = runtime.live(taskId)?.context.requests ?? [];
    const request = given.requestId === undefined ? requests[0] : requests.find(({ id }) => id === given.requestId);
    if (!request) {
      if (given.requestId === undefined) return refuse(`Task ${taskId} asks nothing, or it was answered already.`);
      return refuse(`Request ${given.requestId} of task ${taskId} is not open: it was answered, or the task went on.`);
    }
    if (given.requestId === undefined && requests.length > 1) {
      const list = requests.map((one) => `${one.id} (${requestLine(one)})`).join("; ");
      return refuse(`Task ${taskId} asks ${requests.length} things: ${list}. Say which, with its id as requestId.`);
    }
    const fault = faultOf(request, given);
    if (fault) return refuse(fault);
    const replied = await host.answer(request, given);
    const isGone = !replied.ok && replied.failure.kind === "notFound";
    if (!replied.ok && !isGone) return refuse(`OpenCode did not take the answer: ${replied.failure.message}.`, "host");
    conclude(open.get(request.id) ?? { request, taskIds: [taskId], root: "", callOff: nothing });
    return isGone
      ? refuse(`Request ${request.id} of task ${taskId} is not open any more in OpenCode.`)
      : { ok: true, value: undefined };
  };

  return {
    note: (event) => {
      if (event.type === "asked") onAsked(event.sessionID, event.request);
      if (event.type === "replied") {
        const asked = open.get(event.requestID);
        if (asked) conclude(asked);
      }
    },
    answer,
    stop: () => {
      stopped = true;
      unsubscribe();
      for (const { callOff } of open.values()) callOff();
    },
  };
};
