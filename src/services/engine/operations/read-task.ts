import { modelOf } from "../../../machines/task/fallback.ts";
import type { StoredSnapshot } from "../../../machines/task/machine.ts";
import { slotOf } from "../../../machines/task/slot.ts";
import { attentionOf, waitingOf } from "../../../machines/task/view.ts";
import { entryOf, hasEnded, type ListedTask, type Task, type TaskWithUsage, type Waiting } from "../../../task.ts";
import type { HostMessage } from "../../host/host.ts";
import { fail, type Outcome } from "../../platform/result.ts";
import type { TaskFilter } from "../../store/store.ts";
import { withAwaitedTasks, withSilentSupervisor } from "../../store/task-usage.ts";
import { outOfFleet } from "../../text/model-and-server.ts";
import { join, lines, nameOf, type OwnText, own, quoteLine } from "../../text/own-text.ts";
import { excerpt, type TranscriptOptions } from "../../text/transcript.ts";
import type { EngineContext } from "../context.ts";

/** Only a task that another process supervises can be delayed by a process that is silent. */
const withSupervisor = <T extends { sessionID: string; waiting?: Waiting | undefined }>(
  { runtime, store, clock }: EngineContext,
  task: T,
): T => (runtime.snapshotOf(task.sessionID) ? task : withSilentSupervisor(task, store, clock.now()));

/** Returns a task as callers and people see it: as it is stored, with the newest progress and the tasks that it launched. */
export const getTask = (ctx: EngineContext, taskId: string): TaskWithUsage | undefined => {
  const { store, progress, usageReader } = ctx;
  const record = store.get(taskId);
  if (!record) return undefined;
  const { task: stored, snapshot } = record;
  const queue = slotOf(snapshot) === "waiting" ? store.places([taskId]).get(taskId) : undefined;
  const descendants = store.below([taskId]);
  const childTaskIds = descendants.flatMap(({ sessionID, parentTaskId }) => (parentTaskId === taskId ? sessionID : []));
  const awaiting = withAwaitedTasks({ ...stored, ...(queue ? { queue } : {}) }, store);
  const shown = withSupervisor(ctx, awaiting);
  const task = { ...shown, progress: progress.of(taskId) ?? stored.progress, childTaskIds };
  const entry = entryOf(task);
  return { ...task, usage: usageReader.usageOf([entry], descendants)(entry) };
};

/** Only a task that another process supervises must be read for this. */
const newestSnapshot = ({ runtime, store }: EngineContext, taskId: string): StoredSnapshot | undefined =>
  runtime.snapshotOf(taskId) ?? store.get(taskId)?.snapshot;

/** Returns tasks in the order of their launch, without what only a single task shows: a session may have hundreds. */
export const listTasks = (ctx: EngineContext, filter: TaskFilter): ListedTask[] => {
  const { store, progress } = ctx;
  const listed = store.list(filter).map((entry) => ({
    entry,
    snapshot: hasEnded(entry) ? undefined : newestSnapshot(ctx, entry.sessionID),
  }));
  const places = store.places(
    listed.flatMap(({ entry, snapshot }) => (snapshot && slotOf(snapshot) === "waiting" ? entry.sessionID : [])),
  );
  return listed.map(({ entry, snapshot }) => {
    if (!snapshot) return entry;
    const attention = attentionOf(snapshot.context);
    const waiting = waitingOf(snapshot);
    const queue = places.get(entry.sessionID);
    const overlaps = progress.of(entry.sessionID)?.overlaps;
    const shown = {
      ...entry,
      ...(overlaps ? { overlaps } : {}),
      ...(attention ? { attention } : {}),
      ...(waiting ? { waiting } : {}),
      ...(queue ? { queue } : {}),
      ...(snapshot.context.remote ? { server: snapshot.context.remote.server } : {}),
      ...(snapshot.context.refusedModels
        ? { model: modelOf(snapshot.context), refusedModels: snapshot.context.refusedModels }
        : {}),
    };
    return withSupervisor(ctx, withAwaitedTasks(shown, store));
  });
};

/** Finds the one task of a parent whose id equals `idOrPrefix` or begins with it. */
export const findTask = (ctx: EngineContext, parentSessionID: string, idOrPrefix: string): Outcome<Task> => {
  const { store, options } = ctx;
  const { list } = options.notice.tools;
  const id = idOrPrefix.trim();
  const exact = getTask(ctx, id);
  if (exact?.parentSessionID === parentSessionID) return { ok: true, value: exact };
  const ids = id === "" ? [] : store.list({ parentSessionID, idPrefix: id }).map(({ sessionID }) => sessionID);
  const [only, ...others] = ids;
  if (only === undefined) {
    if (exact) {
      return fail(
        own`This session has no task ${quoteLine(id)}: it is of another conversation, ${nameOf(exact.parentSessionID)}, where its result is delivered. This one may be a copy of that.`,
      );
    }
    const hint = list ? own` ${nameOf(list)} shows the tasks it has.` : own``;
    return fail(own`This session has no task ${quoteLine(id)}.${hint}`);
  }
  if (others.length > 0) {
    return fail(
      own`${quoteLine(id)} begins the ids of ${ids.length} tasks: ${join(ids.map(nameOf), ", ")}. Give more of it.`,
    );
  }
  const task = getTask(ctx, only);
  return task
    ? { ok: true, value: task }
    : fail(own`Task ${nameOf(only)} cannot be read: its record in the task database is damaged.`);
};

/**
 * Returns an excerpt of the conversation in a task's session, each message with a label. That of a task which another server has
 * is read there.
 */
export const readTranscript = async (
  { host, store, fleet }: EngineContext,
  taskId: string,
  wanted: TranscriptOptions,
): Promise<Outcome<OwnText>> => {
  const server = store.get(taskId)?.task.server;
  if (server)
    return fleet?.conversations.transcript(server, taskId, wanted) ?? fail(outOfFleet(server, taskId), "host");
  const conversation = await host.conversation(taskId);
  if (conversation.ok) return excerpt(conversation.value, wanted);
  const reason = quoteLine(conversation.failure.message);
  return fail(own`OpenCode did not give the conversation of task ${nameOf(taskId)}: ${reason}.`);
};

/** Number of newest messages that are searched for text: an agent may call tools for a long time without writing any. */
const SEARCHED_MESSAGES = 50;

/**
 * Milliseconds that the host may take. A blocking tool includes these words in its output, and the results in an output
 * that is not stored within ten seconds are delivered again by a notice. Words that arrive late are not worth that.
 */
const READ_TIMEOUT_MS = 5_000;

/** A message that is not found is older than all that are read, or not stored yet: its id shows which. */
const messagesAfter = (messageID: string | undefined, messages: HostMessage[]): HostMessage[] => {
  if (messageID === undefined) return messages;
  const place = messages.findIndex(({ id }) => id === messageID);
  return place < 0 ? messages.filter(({ id }) => id > messageID) : messages.slice(place + 1);
};

/**
 * Returns what an agent said last in a session, finished or not: the store has no result of a run that failed. Undefined when
 * it said nothing, or the host does not respond in time. With `messageID`, only what was said after that message counts.
 */
export const readLastWords = (
  { host, clock }: EngineContext,
  sessionID: string,
  messageID?: string,
): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    const cancelTimeout = clock.after(READ_TIMEOUT_MS, () => resolve(undefined));
    const read = async () => {
      const result = await host.messages(sessionID, SEARCHED_MESSAGES);
      const messages = result.ok ? result.value : [];
      return messagesAfter(messageID, messages).findLast(
        ({ role, isSummary, text }) => role === "assistant" && !isSummary && text.trim() !== "",
      )?.text;
    };
    read().then(resolve, reject).finally(cancelTimeout);
  });

/** The ids of sessions, and so of tasks, in what a tool call returned. */
const TASK_ID = /\bses_\w+/g;

/**
 * Returns a sentence on whose tasks a conversation mentions that has none of its own: one that a person forked, or a forked task's, has copies
 * of the calls that launched them. Undefined where it mentions none, or cannot be read.
 */
export const tasksOfOriginal = async (
  { host, store, options }: EngineContext,
  sessionID: string,
): Promise<OwnText | undefined> => {
  const conversation = await host.conversation(sessionID);
  if (!conversation.ok) return undefined;
  const results = conversation.value.flatMap(({ parts }) =>
    parts.flatMap((part) =>
      part.kind === "tool" && part.name === options.notice.tools.launch ? (part.result ?? "") : [],
    ),
  );
  const ids = new Set(results.flatMap((result) => result.match(TASK_ID) ?? []));
  const tasks = [...ids].flatMap((id) => store.get(id)?.task ?? []);
  const byOwner = Map.groupBy(
    tasks.filter(({ parentSessionID }) => parentSessionID !== sessionID),
    ({ parentSessionID }) => parentSessionID,
  );
  const said = await Promise.all(
    [...byOwner].map(async ([owner, owned]) => {
      const session = await host.session(owner);
      const title = session.ok ? own`${quoteLine(session.value.title, 100)} (${nameOf(owner)})` : nameOf(owner);
      const names = join(
        owned.map((task) => nameOf(task.sessionID)),
        ", ",
      );
      return own`This conversation has copies of the calls that launched ${names}. Those tasks are of the conversation ${title}, and their results are delivered there.`;
    }),
  );
  return said.length === 0 ? undefined : lines(...said);
};
