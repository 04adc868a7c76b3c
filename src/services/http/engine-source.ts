import { chartsAsJson } from "../../machines/chart-json.ts";
import { allowedEvents } from "../../machines/task/machine.ts";
import type { Task } from "../../task.ts";
import type { Clock } from "../platform/clock.ts";
import type { TaskRecord } from "../store/records.ts";
import type { RemoteCommand } from "../store/task-history.ts";
import { briefTask } from "./contract/brief-task.ts";
import {
  type Done,
  type NotDone,
  type ShownTask,
  SourceUnavailable,
  type StatusSource,
} from "./contract/status-source.ts";
import type { OpenDirectories, OpenDirectory } from "./open-directories.ts";

/** Milliseconds between two looks for another process's answer to a request. */
const LOOK = 200;

/** Milliseconds after which another process that has not answered is not waited for any longer. */
const ANSWERED_WITHIN = 15_000;

const LATE = `The OpenCode process that supervises the task has not answered within ${ANSWERED_WITHIN / 1_000} s. It may do so yet: look at the task again.`;

/** Why nothing can be done with a task for now, and what to do about it. */
const unattended = (directory = "its directory"): string =>
  `No OpenCode has the task's directory open. Open ${directory} in OpenCode, and ask again.`;

/** Why there is nothing to show: the plugin is being disposed of. */
const NO_DIRECTORY = "OpenCode has no directory open in this process.";

/**
 * Characters of results and prompts that are read from the store at once, where many tasks are shown: only a bounded part
 * of each is kept, but each is read whole.
 */
const READ_AT_ONCE = 2_000_000;

/** Tasks that are read first: what they come to says how many are read next. */
const FIRST_READ = 1;

const notDone = (reason: string, liesWith: NotDone["liesWith"] = "task"): NotDone => ({ ok: false, reason, liesWith });

/**
 * The tasks of all directories and processes, as the status API shows them: read from the store that they share, by way
 * of any directory that is open here. `id` makes ids for requests.
 */
export const createEngineSource = (sites: OpenDirectories, clock: Clock, id: () => string): StatusSource => {
  const anySite = (): OpenDirectory => {
    const [site] = sites.all();
    if (!site) throw new SourceUnavailable(NO_DIRECTORY);
    return site;
  };

  /** Where the store cannot be shared, each site knows its own tasks only. */
  const siteOf = (taskId: string): OpenDirectory => sites.all().find(({ store }) => store.get(taskId)) ?? anySite();

  /** What a task asked of a process that is gone, nobody can answer any more: it asks again when it is taken over. */
  const answerable = (task: Task): Task => {
    if (!task.attention?.requests || siteOf(task.sessionID).store.isAttended(task.sessionID)) return task;
    const { attention: _, ...rest } = task;
    return rest;
  };

  const shown = ({ task, snapshot }: TaskRecord): ShownTask => ({
    ...answerable(task),
    childTaskIds: anySite()
      .store.list({ parentTaskId: task.sessionID })
      .map(({ sessionID }) => sessionID),
    allowed: allowedEvents(snapshot),
  });

  const get = (taskId: string): ShownTask | undefined => {
    const record = siteOf(taskId).store.get(taskId);
    return record && shown(record);
  };

  const pause = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));

  const brief = (record: TaskRecord): ShownTask => briefTask(shown(record));

  /** Up to `count` tasks, some at a time: as few as have large results, or many small ones. */
  const readInSteps = (count: number, read: (limit: number, skip: number) => TaskRecord[]): ShownTask[] => {
    const tasks: ShownTask[] = [];
    let limit = FIRST_READ;
    do {
      const step = Math.min(limit, count - tasks.length);
      const records = read(step, tasks.length);
      tasks.push(...records.map(brief));
      if (records.length < step) break;
      const size = records.reduce((sum, { task }) => sum + (task.result?.length ?? 0) + task.prompt.length, 1);
      limit = Math.max(1, Math.min(count, Math.floor((READ_AT_ONCE * records.length) / size)));
    } while (tasks.length < count);
    return tasks;
  };

  /** Has the process that supervises the task do it: this one, or another by way of the store. */
  const request = async (taskId: string, wanted: RemoteCommand): Promise<Done<ShownTask>> => {
    const asked = { id: id(), taskId, command: wanted };
    const until = clock.now() + ANSWERED_WITHIN;
    const { store } = siteOf(taskId);
    if (!store.isAttended(taskId)) return notDone(unattended(store.get(taskId)?.task.directory));
    store.submitCommand(asked, clock.now());
    for (const { engine } of sites.all()) engine.runRemoteCommands();
    for (;;) {
      const answer = store.takeOutcome(asked.id);
      if (answer?.refused !== undefined) return notDone(answer.refused, answer.liesWith);
      const task = get(taskId);
      if (answer) return task ? { ok: true, value: task } : notDone(`Task ${taskId} was cleared.`);
      if (clock.now() >= until) return notDone(LATE, "late");
      await pause(LOOK);
    }
  };

  return {
    page: (filter) => {
      const { store } = anySite();
      let total = 0;
      const tasks = readInSteps(filter.limit, (limit, skip) => {
        const page = store.page({ ...filter, limit, offset: filter.offset + skip });
        total = page.total;
        return page.records;
      });
      return { tasks, total };
    },
    task: get,
    has: (taskId) => siteOf(taskId).store.idsStartingWith(taskId, 1)[0] === taskId,
    idsFrom: (beginning, limit) =>
      [...new Set(sites.all().flatMap(({ store }) => store.idsStartingWith(beginning, limit)))].slice(0, limit),
    batch: (batchId) => anySite().store.batch(batchId).map(brief),
    journal: (taskId) => {
      const { store } = siteOf(taskId);
      return store.get(taskId) ? store.journal(taskId) : undefined;
    },
    stats: () => anySite().store.stats(),
    count: () => anySite().store.stats().total,
    live: () => anySite().store.live().map(brief),
    newestEnded: (count) => readInSteps(count, (limit, skip) => anySite().store.newestEnded(limit, skip)),
    latestChange: () => anySite().store.latestChange(),
    changedSince: (change, limit) =>
      anySite()
        .store.changedSince(change, limit)
        .map(({ record, ...numbers }) => ({ ...numbers, task: brief(record) })),
    logs: async (taskId) => {
      const messages = await siteOf(taskId).host.rawMessages(taskId);
      return messages.ok ? { ok: true, value: messages.value } : notDone(messages.failure.message, "host");
    },
    cancel: (taskId) => request(taskId, { kind: "cancel" }),
    resume: (taskId, prompt) => request(taskId, { kind: "resume", prompt }),
    answer: (taskId, answer) => request(taskId, { kind: "answer", answer }),
    machines: chartsAsJson,
    onChange: sites.onChange,
  };
};
