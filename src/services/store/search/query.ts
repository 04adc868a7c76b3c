import { TaskStatus } from "../../../task.ts";
import type { PageFilter, TaskStats } from "../task-history.ts";
import type { SummaryIndex } from "./summary-index.ts";
import { searchKey, type TaskSummary } from "./task-summary.ts";

/** Names tasks by what they are: `ids` of those that fit, and how many fit in all. */
export interface Match {
  ids: string[];
  total: number;
}

/** What can be known of tasks from what is listed of them. */
export interface TaskQuery {
  page(filter: PageFilter): Match;
  tallies(): TaskStats;
  batch(batchId: string): string[];
  live(): string[];
  newestEnded(count: number, skip?: number): string[];
  idsFrom(beginning: string, limit: number): string[];
}

/** Tells whether a filter fits a task; undefined when it says nothing but, perhaps, the text that is searched for. */
const fitting = (
  { status, agent, directory, batchId }: PageFilter,
  text: string,
): ((listed: TaskSummary) => boolean) | undefined =>
  [status, agent, directory, batchId].every((given) => given === undefined)
    ? undefined
    : (listed) =>
        (status === undefined || listed.status === status) &&
        (agent === undefined || listed.agent === agent) &&
        (directory === undefined || listed.directory === directory) &&
        (batchId === undefined || listed.batchId === batchId) &&
        listed.text.includes(text);

const idsOf = (listed: readonly TaskSummary[]): string[] => listed.map(({ id }) => id);

/** Tallies of no task at all. */
export const noStats = (): TaskStats => ({
  total: 0,
  byStatus: Object.fromEntries(TaskStatus.options.map((status) => [status, 0])) as TaskStats["byStatus"],
  byAgent: {},
  duration: { avg: 0, max: 0, min: 0 },
});

const statsOf = (entries: readonly TaskSummary[]): TaskStats => {
  const tallies = noStats();
  // An agent may be called `constructor`.
  const byAgent = new Map<string, number>();
  let [ended, sum, max, min] = [0, 0, 0, Number.POSITIVE_INFINITY];
  for (const { status, agent, duration } of entries) {
    tallies.byStatus[status] += 1;
    byAgent.set(agent, (byAgent.get(agent) ?? 0) + 1);
    if (duration === undefined) continue;
    ended += 1;
    sum += duration;
    max = Math.max(max, duration);
    min = Math.min(min, duration);
  }
  const duration = ended === 0 ? tallies.duration : { avg: sum / ended, max, min };
  return { ...tallies, total: entries.length, byAgent: Object.fromEntries(byAgent), duration };
};

/** Looks through the tasks of a listing, as they stand when it is asked. */
export const createTaskQuery = ({ shelves, entries }: SummaryIndex): TaskQuery => ({
  page: (filter) => {
    const text = searchKey(filter.search ?? "");
    const fits = fitting(filter, text);
    const { offset, limit } = filter;
    const ids: string[] = [];
    let total = 0;
    for (const { entries: on, search } of shelves().toReversed()) {
      // What else is asked for leaves fewer texts to look into.
      const found = fits || text === "" ? undefined : search(text);
      const count = found ? found.length : on.length;
      if (!fits && (total + count <= offset || ids.length >= limit)) {
        total += count;
        continue;
      }
      for (let nth = count - 1; nth >= 0; nth -= 1) {
        const listed = on[found ? (found[nth] ?? nth) : nth];
        if (!listed || (fits && !fits(listed))) continue;
        if (total >= offset && ids.length < limit) ids.push(listed.id);
        total += 1;
      }
    }
    return { ids, total };
  },
  tallies: () => statsOf(entries()),
  batch: (batchId) => idsOf(entries().filter((listed) => listed.batchId === batchId)),
  live: () => idsOf(entries().filter(({ endedAt }) => endedAt === undefined)),
  newestEnded: (count, skip = 0) =>
    idsOf(
      entries()
        .filter(({ endedAt }) => endedAt !== undefined)
        .sort((a, b) => (b.endedAt ?? 0) - (a.endedAt ?? 0) || b.born - a.born)
        .slice(skip, skip + count),
    ),
  idsFrom: (beginning, limit) =>
    entries()
      .flatMap(({ id }) => (id.startsWith(beginning) ? [id] : []))
      .sort()
      .slice(0, limit),
});
