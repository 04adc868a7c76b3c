import { TaskStatus } from "../../../task.ts";
import type { PageFilter, TaskHistory, TaskRecord, TaskStats } from "../store.ts";
import type { SummaryIndex } from "./summary-index.ts";
import { searchKey, type TaskSummary } from "./task-summary.ts";

/** The tasks of one page by their ids, and how many tasks match in all. */
export interface Match {
  ids: string[];
  total: number;
}

/** The questions of `TaskHistory` that summaries can answer, with ids in the place of records. */
export interface TaskQuery {
  page(filter: PageFilter): Match;
  stats(): TaskStats;
  batch(batchId: string): string[];
  live(): string[];
  newestEnded(count: number, skip?: number): string[];
  idsStartingWith(beginning: string, limit: number): string[];
}

/** Returns the test of a task against the filter; undefined when the filter has nothing but, perhaps, a search text. */
const matcherOf = (
  { status, agent, directory, batchId }: PageFilter,
  text: string,
): ((summary: TaskSummary) => boolean) | undefined =>
  [status, agent, directory, batchId].every((given) => given === undefined)
    ? undefined
    : (summary) =>
        (status === undefined || summary.status === status) &&
        (agent === undefined || summary.agent === agent) &&
        (directory === undefined || summary.directory === directory) &&
        (batchId === undefined || summary.batchId === batchId) &&
        summary.text.includes(text);

const idsOf = (summaries: readonly TaskSummary[]): string[] => summaries.map(({ id }) => id);

/** The stats of an empty store. */
export const noStats = (): TaskStats => ({
  total: 0,
  byStatus: Object.fromEntries(TaskStatus.options.map((status) => [status, 0])) as TaskStats["byStatus"],
  byAgent: {},
  duration: { avg: 0, max: 0, min: 0 },
});

const statsOf = (summaries: readonly TaskSummary[]): TaskStats => {
  const stats = noStats();
  // A map, since an agent may be called `constructor`.
  const byAgent = new Map<string, number>();
  let [ended, sum, max, min] = [0, 0, 0, Number.POSITIVE_INFINITY];
  for (const { status, agent, duration } of summaries) {
    stats.byStatus[status] += 1;
    byAgent.set(agent, (byAgent.get(agent) ?? 0) + 1);
    if (duration === undefined) continue;
    ended += 1;
    sum += duration;
    max = Math.max(max, duration);
    min = Math.min(min, duration);
  }
  const duration = ended === 0 ? stats.duration : { avg: sum / ended, max, min };
  return { ...stats, total: summaries.length, byAgent: Object.fromEntries(byAgent), duration };
};

/** Creates queries over an index. Each answers from the index as it is at the time of the call. */
export const createTaskQuery = ({ blocks, entries }: SummaryIndex): TaskQuery => ({
  page: (filter) => {
    const text = searchKey(filter.search ?? "");
    const matches = matcherOf(filter, text);
    const { offset, limit } = filter;
    const ids: string[] = [];
    let total = 0;
    for (const { entries: inBlock, search } of blocks().toReversed()) {
      // With other filters, comparing them first leaves fewer texts to search.
      const found = matches || text === "" ? undefined : search(text);
      const count = found ? found.length : inBlock.length;
      if (!matches && (total + count <= offset || ids.length >= limit)) {
        total += count;
        continue;
      }
      for (let nth = count - 1; nth >= 0; nth -= 1) {
        const summary = inBlock[found ? (found[nth] ?? nth) : nth];
        if (!summary || (matches && !matches(summary))) continue;
        if (total >= offset && ids.length < limit) ids.push(summary.id);
        total += 1;
      }
    }
    return { ids, total };
  },
  stats: () => statsOf(entries()),
  batch: (batchId) => idsOf(entries().filter((summary) => summary.batchId === batchId)),
  live: () => idsOf(entries().filter(({ endedAt }) => endedAt === undefined)),
  newestEnded: (count, skip = 0) =>
    idsOf(
      entries()
        .filter(({ endedAt }) => endedAt !== undefined)
        .sort((a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0) || b.createdChange - a.createdChange)
        .slice(skip, skip + count),
    ),
  idsStartingWith: (beginning, limit) =>
    entries()
      .flatMap(({ id }) => (id.startsWith(beginning) ? [id] : []))
      .sort()
      .slice(0, limit),
});

/** The questions of `TaskHistory` that summaries and a way to read single records can answer. */
export type RecordQuery = Pick<TaskHistory, "page" | "stats" | "batch" | "live" | "newestEnded" | "idsStartingWith">;

/** Answers with records, read by `get`, in the place of ids. A task without a readable record is left out. */
export const createRecordQuery = (query: TaskQuery, get: (taskId: string) => TaskRecord | undefined): RecordQuery => {
  const records = (ids: string[]): TaskRecord[] => ids.flatMap((id) => get(id) ?? []);
  return {
    page: (filter) => {
      const { ids, total } = query.page(filter);
      return { records: records(ids), total };
    },
    stats: query.stats,
    batch: (batchId) => records(query.batch(batchId)),
    live: () => records(query.live()),
    newestEnded: (count, skip) => records(query.newestEnded(count, skip)),
    idsStartingWith: query.idsStartingWith,
  };
};
