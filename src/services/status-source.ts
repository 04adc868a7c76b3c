import { charts } from "../machines/charts.ts";
import { allowedEvents } from "../machines/task.ts";
import type { Clock } from "./clock.ts";
import { type ShownTask, type StatusSource, Unavailable } from "./http/source.ts";
import { type Outcome, refuse } from "./outcome.ts";
import type { Site, Sites } from "./sites.ts";
import type { Request } from "./store/history.ts";
import type { TaskRecord } from "./store/store.ts";

/** Milliseconds between two looks for another process's answer to a request. */
const LOOK = 200;

/** Milliseconds after which another process that has not answered is not waited for any longer. */
const ANSWERED_WITHIN = 15_000;

const LATE = `The OpenCode process that supervises the task has not answered within ${ANSWERED_WITHIN / 1_000} s. It may do so yet: look at the task again.`;

/** Why there is nothing to show: the plugin is being disposed of. */
const NO_SITE = "OpenCode has no directory open in this process.";

/**
 * The tasks of all directories and processes, as the status API shows them: read from the store that they share, by way
 * of any directory that is open here. `id` makes ids for requests.
 */
export const createStatusSource = (sites: Sites, clock: Clock, id: () => string): StatusSource => {
  const anySite = (): Site => {
    const [site] = sites.all();
    if (!site) throw new Unavailable(NO_SITE);
    return site;
  };

  /** Where the store cannot be shared, each site knows its own tasks only. */
  const siteOf = (taskId: string): Site => sites.all().find(({ store }) => store.get(taskId)) ?? anySite();

  const shown = ({ task, snapshot }: TaskRecord): ShownTask => ({
    ...task,
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

  /** Has the process that supervises the task do it: this one, or another by way of the store. */
  const request = async (taskId: string, wanted: Request): Promise<Outcome<ShownTask>> => {
    const asked = { id: id(), taskId, request: wanted };
    const until = clock.now() + ANSWERED_WITHIN;
    const { store } = siteOf(taskId);
    store.ask(asked, clock.now());
    for (const { engine } of sites.all()) engine.fulfilRequests();
    for (;;) {
      const answer = store.takeAnswer(asked.id);
      if (answer?.refused !== undefined) return refuse(answer.refused);
      const task = get(taskId);
      if (answer) return task ? { ok: true, value: task } : refuse(`Task ${taskId} was cleared.`);
      if (clock.now() >= until) return refuse(LATE);
      await pause(LOOK);
    }
  };

  return {
    page: (filter) => {
      const { records, total } = anySite().store.page(filter);
      return { tasks: records.map(shown), total };
    },
    task: get,
    batch: (batchId) => anySite().store.batch(batchId).map(shown),
    journal: (taskId) => {
      const { store } = siteOf(taskId);
      return store.get(taskId) ? store.journal(taskId) : undefined;
    },
    tallies: () => anySite().store.tallies(),
    live: () => anySite().store.live().map(shown),
    newestEnded: (count) => anySite().store.newestEnded(count).map(shown),
    latestChange: () => anySite().store.latestChange(),
    changedSince: (change, limit) =>
      anySite()
        .store.changedSince(change, limit)
        .map(({ record, ...numbers }) => ({ ...numbers, task: shown(record) })),
    logs: async (taskId) => {
      const messages = await siteOf(taskId).host.rawMessages(taskId);
      return messages.ok ? { ok: true, value: messages.value } : refuse(messages.failure.message);
    },
    cancel: (taskId) => request(taskId, { kind: "cancel" }),
    resume: (taskId, prompt) => request(taskId, { kind: "resume", prompt }),
    answer: (taskId, answer) => request(taskId, { kind: "answer", answer }),
    machines: charts,
    onChange: sites.onChange,
  };
};
