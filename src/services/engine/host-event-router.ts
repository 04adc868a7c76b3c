import type { HostEvent } from "../../machines/host-events.ts";
import type { EngineContext } from "./context.ts";
import type { Reminders } from "./delivery/reminders.ts";
import type { UserRequests } from "./delivery/user-requests.ts";
import type { Budgets } from "./limits/budgets.ts";
import type { Overlaps } from "./overlaps/overlaps.ts";
import type { Adoption } from "./recovery/adoption.ts";

/** What takes events of the host beside the parts of the context. */
interface Receivers {
  budgets: Budgets;
  overlaps: Overlaps;
  adoption: Adoption;
  reminders: Reminders;
  userRequests: UserRequests;
}

type EventsByType = { [E in HostEvent as E["type"]]: E };
type EventOf<Type extends HostEvent["type"]> = { [T in Type]: EventsByType[T] & { type: T } }[Type];
/** `at` is epoch milliseconds. */
type Receiver<Type extends HostEvent["type"]> = (event: EventOf<Type>, at: number) => void;
type Routes = { [Type in HostEvent["type"]]: Receiver<Type>[] };

/**
 * Creates the function that passes each event of the host to the parts that take its type, in the order in which they
 * are listed here. The receivers are kept by type, because text events come by the thousand.
 */
export const createHostEventRouter = (
  ctx: EngineContext,
  { budgets, overlaps, adoption, reminders, userRequests }: Receivers,
): ((event: HostEvent) => void) => {
  const { runtime, bus, clock, progress, observedAnswers, observedSessions, descendantWork, turns, waits } = ctx;
  const { ancestorTask, opening, sessionWaits, sessionTree } = ctx;

  const routes: Routes = {
    busy: [],
    retrying: [],
    answering: [],
    idle: [],
    error: [],
    deleted: [],
    session: [],
    compacted: [],
    message: [],
    text: [],
    asked: [],
    replied: [],
    toolCall: [],
    filesChanged: [],
    step: [],
  };
  const every = (receive: (event: HostEvent, at: number) => void) => {
    for (const route of Object.values(routes)) route.push(receive);
  };
  const on = <Type extends HostEvent["type"]>(types: readonly Type[], receive: NoInfer<Receiver<Type>>) => {
    for (const type of types) routes[type].push(receive);
  };

  /** Counts what is done for a task. What a person does in its session once its run has ended is no part of the task. */
  const count = (event: HostEvent, at: number, taskId = event.sessionID) => {
    if (runtime.snapshotOf(taskId)?.context.completedAt === undefined) progress.onHostEvent(event, at, taskId);
  };

  // First the parts that only observe: the effects of the charts' next steps read what these have recorded.
  every(count);
  on(["busy", "retrying", "idle", "message", "text", "toolCall"], (event) => {
    const task = runtime.snapshotOf(event.sessionID);
    if (task && task.context.completedAt === undefined) observedAnswers.onHostEvent(event);
  });
  on(["session", "deleted"], observedSessions.onHostEvent);
  on(["busy", "retrying", "idle", "deleted", "message", "toolCall"], descendantWork.onHostEvent);
  on(["message", "deleted"], turns.onHostEvent);
  // A tool call whose output is stored has delivered its results, for which no notice is due any more.
  on(["toolCall"], waits.onHostEvent);
  // What is used counts towards the budgets once progress has it.
  on(["toolCall", "step", "message", "idle", "deleted"], budgets.onHostEvent);
  on(["toolCall", "step", "filesChanged"], (event, at) => {
    const taskId = ancestorTask(event.sessionID);
    if (taskId === undefined) return;
    count(event, at, taskId);
    budgets.onUsed(taskId);
  });
  on(["toolCall", "filesChanged"], overlaps.onHostEvent);
  // Whether the process stays decides whether adoption may begin.
  on(["busy", "retrying", "idle", "deleted"], opening.onHostEvent);
  on(["busy", "retrying"], ({ sessionID }) => adoption.onSessionBusy(sessionID));

  const ofCharts = ["busy", "retrying", "answering", "idle", "error", "deleted", "session", "message"] as const;
  on([...ofCharts, "asked", "replied"], (event, at) => {
    if (runtime.concerns(event)) runtime.dispatch({ type: "HOST", at, event });
  });

  // Then what is done for agents and people, which depends on the charts' new states.
  on(["compacted"], ({ sessionID }) => reminders.remind(sessionID));
  on(["idle", "session"], sessionWaits.onHostEvent);
  on(["session", "deleted"], sessionTree.onHostEvent);
  on(["asked", "replied", "idle", "deleted"], userRequests.onHostEvent);
  // Last, when all others have taken the event, the tasks of the session are removed.
  on(["deleted"], ({ sessionID }) => bus.emit("sessionDeleted", { sessionID }));

  const receive = <Type extends HostEvent["type"]>(event: EventOf<Type>): void => {
    runtime.renewLease();
    const at = clock.now();
    for (const take of routes[event.type]) take(event, at);
  };
  bus.on("missedHostEvent", receive);
  return receive;
};
