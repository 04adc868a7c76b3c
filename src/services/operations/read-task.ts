import { modelOf } from "../../machines/task/fallback.ts";
import type { StoredSnapshot } from "../../machines/task/machine.ts";
import { slotOf } from "../../machines/task/slot.ts";
import { attentionOf, waitingOf } from "../../machines/task/view.ts";
import {
  entryOf,
  type FleetServer,
  hasEnded,
  type ListedTask,
  type Task,
  type TaskWithUsage,
  type Waiting,
} from "../../task.ts";
import type { Host, HostMessage } from "../host/host.ts";
import type { Clock } from "../platform/clock.ts";
import { fail, type Outcome } from "../platform/result.ts";
import type { ProgressLog } from "../runtime/progress.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { UsageReader } from "../runtime/usage-reader.ts";
import { withAwaitedTasks } from "../store/awaited-tasks.ts";
import { withSilentSupervisor } from "../store/silent-supervisor.ts";
import type { Store, TaskFilter } from "../store/store.ts";
import { outOfFleet } from "../text/model-and-server.ts";
import type { ToolNames } from "../text/notice.ts";
import { join, nameOf, type OwnText, own, quoteLine } from "../text/own-text.ts";
import { excerpt, type TranscriptOptions } from "../text/transcript.ts";

/** Tasks as callers and people see them: what is stored, with the newest progress and the tasks that they launched. */
export interface TaskReader {
  get(taskId: string): TaskWithUsage | undefined;
  /** Tasks in the order of their launch, without what only a single task shows: a session may have hundreds. */
  list(filter: TaskFilter): ListedTask[];
}

/** Creates a reader of all tasks of the store. */
export const createTaskReader = (
  store: Store,
  progress: ProgressLog,
  { usageOf }: UsageReader,
  { snapshotOf }: Pick<Runtime, "snapshotOf">,
  { now }: Pick<Clock, "now">,
): TaskReader => {
  /** Only a task that another process supervises can be held up by a process that is silent. */
  const withSupervisor = <T extends { sessionID: string; waiting?: Waiting | undefined }>(task: T): T =>
    snapshotOf(task.sessionID) ? task : withSilentSupervisor(task, store, now());

  const get = (taskId: string): TaskWithUsage | undefined => {
    const record = store.get(taskId);
    if (!record) return undefined;
    const { task: stored, snapshot } = record;
    const queue = slotOf(snapshot) === "waiting" ? store.places([taskId]).get(taskId) : undefined;
    const below = store.below([taskId]);
    const childTaskIds = below.flatMap(({ sessionID, parentTaskId }) => (parentTaskId === taskId ? sessionID : []));
    const awaiting = withAwaitedTasks({ ...stored, ...(queue ? { queue } : {}) }, store);
    const shown = withSupervisor(awaiting);
    const task = { ...shown, progress: progress.of(taskId) ?? stored.progress, childTaskIds };
    const entry = entryOf(task);
    return { ...task, usage: usageOf([entry], below)(entry) };
  };

  /** Only a task that another process supervises must be read for this. */
  const newestSnapshot = (taskId: string): StoredSnapshot | undefined =>
    snapshotOf(taskId) ?? store.get(taskId)?.snapshot;

  const list = (filter: TaskFilter): ListedTask[] => {
    const listed = store.list(filter).map((entry) => ({
      entry,
      snapshot: hasEnded(entry) ? undefined : newestSnapshot(entry.sessionID),
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
      return withSupervisor(withAwaitedTasks(shown, store));
    });
  };

  return { get, list };
};

/**
 * Creates a function that finds the one task of a parent whose id equals `idOrPrefix` or begins with it.
 * @param get returns a task as people see it
 */
export const createTaskFinder =
  (store: Store, get: (taskId: string) => Task | undefined, { list }: ToolNames) =>
  (parentSessionID: string, idOrPrefix: string): Outcome<Task> => {
    const id = idOrPrefix.trim();
    const exact = get(id);
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
    const task = get(only);
    return task
      ? { ok: true, value: task }
      : fail(own`Task ${nameOf(only)} cannot be read: its record in the task database is damaged.`);
  };

/** Reads conversations of tasks from the servers that work or worked on them. */
export interface Elsewhere {
  /** An excerpt, in the labelled form. */
  transcript(server: FleetServer, taskId: string, options: TranscriptOptions): Promise<Outcome<OwnText>>;
  /** The messages in the host's own form, oldest first, as another server gives them: they may be anything. */
  messages(server: FleetServer, taskId: string): Promise<Outcome<unknown[]>>;
}

/**
 * Creates a function that writes an excerpt of the conversation in a task's session, in the labelled form. That of a task which
 * another server has is read there.
 */
export const createTranscriptReader =
  (host: Host, store: Pick<Store, "get">, elsewhere: Elsewhere | undefined) =>
  async (taskId: string, options: TranscriptOptions): Promise<Outcome<OwnText>> => {
    const server = store.get(taskId)?.task.server;
    if (server) return elsewhere?.transcript(server, taskId, options) ?? fail(outOfFleet(server, taskId), "host");
    const conversation = await host.conversation(taskId);
    if (conversation.ok) return excerpt(conversation.value, options);
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

/** A message that is not found is older than all that are read, or not stored yet: of those two, its id tells which. */
const messagesAfter = (messageID: string | undefined, messages: HostMessage[]): HostMessage[] => {
  if (messageID === undefined) return messages;
  const place = messages.findIndex(({ id }) => id === messageID);
  return place < 0 ? messages.filter(({ id }) => id > messageID) : messages.slice(place + 1);
};

/**
 * Creates a function that reads what an agent said last in a session, finished or not: the store has no result of a run
 * that failed. It returns undefined when the agent said nothing or the host does not respond in time. With `messageID`,
 * only what was said after that message counts.
 */
export const createLastWords =
  (host: Host, clock: Clock) =>
  (sessionID: string, messageID?: string): Promise<string | undefined> =>
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
