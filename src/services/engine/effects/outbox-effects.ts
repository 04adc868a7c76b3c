import type { HostSession, SetAside } from "../../../machines/host-events.ts";
import type { NoticePrompt, OutboxEvent, Sender } from "../../../machines/outbox/events.ts";
import { isPaused } from "../../../machines/task/machine.ts";
import { hasEnded, type TaskEntry } from "../../../task.ts";
import type { HostFailure, HostResult } from "../../host/host.ts";
import { firstFailure, isDeleted, okIfNotFound, whySetAside } from "../../host/sessions.ts";
import { sleep } from "../../platform/clock.ts";
import type { EffectHandlers, EffectOf } from "../../runtime/effects.ts";
import { stopWhile } from "../../runtime/known-sessions.ts";
import { createEarlierMessages, isAborted, isAnswer, NEWEST_MESSAGES, storedAtOf } from "../../runtime/run-outcome.ts";
import type { EngineContext } from "../context.ts";
import { composeNotice, notifySetAside, reportUndelivered, roomIn } from "../delivery/notices.ts";

/**
 * Milliseconds from the host's acceptance of a notice to its toast. Before that the host stores the notice and prepares
 * the parent's turn, which a toast would delay by 5 to 20 ms (measured).
 */
const TOAST_DELAY_MS = 1_500;

/** Composes one prompt of those results of which all is known; undefined where that is none yet. */
const compose = (
  ctx: EngineContext,
  { parentSessionID, queue, room }: EffectOf<"composeNotice">,
): NoticePrompt | undefined => {
  const { store, worktrees, noticeRepair } = ctx;
  // One that ended at the last moment is left for the next prompt.
  const ready = queue.filter(({ taskId }) => {
    const task = store.get(taskId)?.task;
    return !task || !worktrees.isCounting(task);
  });
  if (ready.length === 0) return undefined;
  const prompt = composeNotice(ctx, ready, room);
  noticeRepair.expect(parentSessionID, prompt);
  return prompt;
};

/**
 * True for a task whose end will come by itself and is worth waiting for: not for one that nobody supervises or whose
 * record is damaged, nor for one that waits for a person or has been silent for too long.
 */
const isWorthWaitingFor =
  (store: EngineContext["store"]) =>
  (entry: TaskEntry): boolean => {
    if (hasEnded(entry)) return false;
    const task = store.get(entry.sessionID)?.task;
    return task !== undefined && task.attention === undefined && store.isAttended(entry.sessionID);
  };

/**
 * Returns those of a parent's batches of which no task is at work, in whatever process, and none is being launched. In
 * `opencode run`, which ends with its agent's answer, nothing is worth waiting for, so that is all of them.
 */
export const endedBatches = (
  { store, launches, options }: Pick<EngineContext, "store" | "launches"> & { options: { isHeadless: boolean } },
  parentSessionID: string,
  batchIds: string[],
): string[] => {
  if (options.isHeadless) return batchIds;
  const launching = new Set(launches.of(parentSessionID).map(({ batchId }) => batchId));
  return batchIds.filter(
    (batchId) => !launching.has(batchId) && !store.list({ parentSessionID, batchId }).some(isWorthWaitingFor(store)),
  );
};

/** Milliseconds before the end of a prompt cache at which a turn is begun: its request takes a while to reach the provider. */
const CACHE_MARGIN_MS = 5_000;

/**
 * Returns until when further ends are worth waiting for before the parent is woken, epoch milliseconds: as long as the
 * provider keeps the parent's conversation in its prompt cache, see the option `promptCache`. Undefined where no other task
 * of the parent is at work, and where the parent is, since its turn delivers what has ended.
 */
const gatherUntil = async (
  { host, store, options: { isHeadless, promptCache } }: Pick<EngineContext, "host" | "store" | "options">,
  parentSessionID: string,
): Promise<number | undefined> => {
  if (promptCache === 0 || isHeadless) return undefined;
  if (!store.list({ parentSessionID }).some(isWorthWaitingFor(store))) return undefined;
  const [busy, newest] = await Promise.all([host.busy(), host.messages(parentSessionID, NEWEST_MESSAGES)]);
  // A parent of which this is not known is woken as if nothing were cached.
  if (!busy.ok || !newest.ok || busy.value.has(parentSessionID)) return undefined;
  const answeredAt = newest.value.findLast(({ role }) => role === "assistant")?.completedAt;
  return answeredAt === undefined ? undefined : answeredAt + promptCache - CACHE_MARGIN_MS;
};

/** Creates the handlers of the effects that the outbox of a parent asks for. */
export const createOutboxEffects = (
  ctx: EngineContext,
): EffectHandlers<
  | "checkBatches"
  | "readParent"
  | "composeNotice"
  | "sendNotice"
  | "checkNotice"
  | "findParent"
  | "showToasts"
  | "reportSetAside"
  | "noticeRejected"
> => {
  const { host, clock, bus, runtime, reads, worktrees, stopsUnderWay } = ctx;
  const earlierOf = createEarlierMessages();

  /** The event for a parent that was not found; undefined for any other failure. */
  const ifNotFound = ({ kind, message }: HostFailure): OutboxEvent | undefined =>
    kind === "notFound" ? { type: "PARENT_NOT_FOUND", at: clock.now(), message } : undefined;

  /** False for an agent that the configuration has no more. A host that does not say so is taken to have it. */
  const hasAgent = async (name: string | undefined): Promise<boolean> => {
    const agents = await host.agents();
    return !agents.ok || agents.value.some((agent) => agent.name === name);
  };

  /** The session's own agent; none where the host refuses that very agent, so that its default one takes over. */
  const senderOf = async ({ agent, model }: HostSession, wasRefused: boolean): Promise<Sender> => ({
    agent: !wasRefused || (await hasAgent(agent)) ? agent : undefined,
    model,
  });

  /** A parent that seems to be set aside may have been used again while the host answered: its newest state counts. */
  const whySetAsideNow = async (parent: HostSession): Promise<HostResult<SetAside | undefined>> => {
    if (isPaused(runtime.snapshotOf(parent.id))) return { ok: true, value: "paused" };
    const why = await whySetAside(host, parent);
    if (!why.ok || why.value === undefined) return why;
    const newest = await reads.session(parent.id);
    return newest.ok ? whySetAside(host, newest.value) : newest;
  };

  const readParent = async ({
    parentSessionID,
    wasRefused,
    asksRoom,
  }: EffectOf<"readParent">): Promise<OutboxEvent> => {
    // Once: where runs go on ending, there is always one more that is not known yet. It is left for the next prompt.
    await worktrees.untilCounted(parentSessionID);
    // The host answers a call after most of what ends at that moment, so that one notice delivers it all.
    const mayGather = runtime.hasRunningTasks(parentSessionID);
    const parent = await (mayGather || wasRefused ? host : reads).session(parentSessionID);
    const why = parent.ok ? await whySetAsideNow(parent.value) : parent;
    if (parent.ok && why.ok) {
      const sender = await senderOf(parent.value, wasRefused);
      // Of what has ended in the meantime, too.
      await worktrees.untilCounted(parentSessionID);
      const othersRun = runtime.hasRunningTasks(parentSessionID);
      const setAside = why.value && { setAside: why.value };
      const room = asksRoom && !setAside && { room: await roomIn(ctx, parent.value) };
      const until = setAside || wasRefused ? undefined : await gatherUntil(ctx, parentSessionID);
      const gather = until === undefined ? {} : { gatherUntil: until };
      return { type: "PARENT_READ", at: clock.now(), sender, othersRun, ...setAside, ...room, ...gather };
    }
    const failure = firstFailure([parent, why]);
    const message = failure?.message ?? "";
    return (failure && ifNotFound(failure)) ?? { type: "READ_FAILED", at: clock.now(), message };
  };

  /** Stops what a notice begins in the session of a task that was lost or paused while the notice was on its way. */
  const stopUnwanted = (taskId: string): Promise<void> => {
    const isUnwanted = () => runtime.isLost(taskId) || isPaused(runtime.snapshotOf(taskId));
    return isUnwanted() ? stopsUnderWay.during(taskId, stopWhile(host, clock, taskId, isUnwanted)) : Promise.resolve();
  };

  const sendNotice = async ({ parentSessionID, prompt, sender }: EffectOf<"sendNotice">): Promise<OutboxEvent> => {
    const { messageID, parts } = prompt;
    const isToTask = runtime.isStillOurs(parentSessionID);
    ctx.wakeCosts.expect(parentSessionID, prompt);
    const sent = await host.prompt({ sessionID: parentSessionID, messageID, parts, ...sender });
    if (isToTask) await stopUnwanted(parentSessionID);
    const at = clock.now();
    if (sent.ok) return { type: "SENT", at, messageID };
    const { kind, message } = sent.failure;
    const retryable = kind === "unavailable";
    return ifNotFound(sent.failure) ?? { type: "SEND_REFUSED", at, messageID, message, retryable };
  };

  const checkNotice = async ({ parentSessionID, messageID }: EffectOf<"checkNotice">): Promise<OutboxEvent> => {
    const [stored, newest, busy] = await Promise.all([
      host.message(parentSessionID, messageID),
      host.messages(parentSessionID, NEWEST_MESSAGES),
      host.busy(),
    ]);
    const at = clock.now();
    const notFound = newest.ok ? undefined : ifNotFound(newest.failure);
    if (notFound) return notFound;
    const failure = firstFailure([newest, busy, okIfNotFound(stored)]);
    if (!newest.ok || !busy.ok || failure) {
      return { type: "CHECK_FAILED", at, messageID, message: failure?.message ?? "" };
    }
    const storedAt = stored.ok ? stored.value.createdAt : storedAtOf(messageID, newest.value);
    if (storedAt === undefined) return { type: "CHECKED", at, messageID, storedAt, standing: "unanswered" };
    const earlier = earlierOf(newest.value, at);
    const answers = newest.value.filter((message) =>
      isAnswer(message, { messageID, storedAt, earlier, messages: newest.value }),
    );
    const isBusy = busy.value.has(parentSessionID);
    // An unfinished answer of an idle parent was cut off when its process ended.
    const isAnswered = answers.some(({ completedAt }) => isBusy || completedAt !== undefined);
    const newestAnswer = newest.value.findLast(({ role, isSummary }) => role === "assistant" && !isSummary);
    const wasStopped =
      newestAnswer !== undefined &&
      isAborted(newestAnswer) &&
      newestAnswer.completedAt > storedAt &&
      !earlier.has(newestAnswer.id);
    // A busy parent that has the message will come to it: it reads its messages anew at every step.
    const otherwise = isBusy ? "pending" : wasStopped ? "stopped" : "unanswered";
    const standing = isAnswered ? "answered" : otherwise;
    const stopped = standing === "stopped" && wasStopped ? { stoppedAt: newestAnswer.completedAt } : {};
    return { type: "CHECKED", at, messageID, storedAt, standing, ...stopped };
  };

  const findParent = async ({ parentSessionID }: EffectOf<"findParent">): Promise<OutboxEvent> => {
    const deleted = await isDeleted(host, parentSessionID);
    const at = clock.now();
    if (!deleted.ok) return { type: "SEARCH_FAILED", at, message: deleted.failure.message };
    if (!deleted.value) return { type: "PARENT_FOUND", at };
    await bus.emitAndWait("sessionDeleted", { sessionID: parentSessionID });
    return { type: "PARENT_CLOSED", at };
  };

  return {
    // No call to the host. Where it fails, the outbox asks again after a while.
    checkBatches: {
      perform: ({ parentSessionID, batchIds }) => ({
        type: "BATCHES_CHECKED",
        at: clock.now(),
        ended: endedBatches(ctx, parentSessionID, batchIds),
      }),
    },
    readParent: {
      perform: readParent,
      failures: ["READ_FAILED", "PARENT_NOT_FOUND"],
      onFault: (_, at, message) => ({ type: "READ_FAILED", at, message }),
    },
    // At once, and no call to the host: the prompt's words and ids are fixed in the transaction that stores them.
    composeNotice: {
      perform: (effect) => {
        const at = clock.now();
        const prompt = compose(ctx, effect);
        return prompt
          ? { type: "COMPOSED", prompt, at }
          : { type: "COMPOSE_FAILED", at, message: "what the tasks changed is still being counted" };
      },
      onFault: (_, at, message) => ({ type: "COMPOSE_FAILED", at, message }),
    },
    sendNotice: {
      perform: sendNotice,
      failures: ["SEND_REFUSED", "PARENT_NOT_FOUND"],
      onFault: ({ prompt: { messageID } }, at, message) => ({
        type: "SEND_REFUSED",
        at,
        messageID,
        message,
        retryable: true,
      }),
    },
    checkNotice: {
      perform: checkNotice,
      failures: ["CHECK_FAILED", "PARENT_NOT_FOUND"],
      onFault: ({ messageID }, at, message) => ({ type: "CHECK_FAILED", at, messageID, message }),
    },
    findParent: {
      perform: findParent,
      failures: ["SEARCH_FAILED"],
      onFault: (_, at, message) => ({ type: "SEARCH_FAILED", at, message }),
    },
    showToasts: {
      perform: async ({ toasts }) => {
        await sleep(clock, TOAST_DELAY_MS);
        for (const toast of toasts) await ctx.toast(toast);
        return undefined;
      },
    },
    reportSetAside: { perform: (effect) => notifySetAside(ctx, effect) },
    noticeRejected: { perform: (effect) => reportUndelivered(ctx, effect) },
  };
};
