import { Option } from "@commander-js/extra-typings";
import type { ApiTask, TaskListQuery } from "../../client/api-types.ts";
import type { StatusApiClient } from "../../client/status-api-client.ts";
import { TASK_STATUSES } from "../../field-values.ts";
import type { JournalReader } from "../../services/store/sqlite/journal-reader.ts";
import { hasEnded, type Usage } from "../../task.ts";
import { type CommandContext, CommandError, command, examples, printJson } from "../command.ts";
import { readStoredTasks, type StoredQuery } from "../stored-tasks.ts";
import { readTasks } from "../task-source.ts";
import { ownUsage, summaryLine, taskTable, usageWithBelow } from "../task-table.ts";

/** Ended tasks that are listed unless more are asked for: a screen. */
const DEFAULT_LIMIT = 20;

/** Reads how many tasks to list. */
export const readLimit = (given: string): number => {
  const limit = Number(given);
  if (Number.isInteger(limit) && limit > 0) return limit;
  throw new CommandError(`--limit takes a whole number above 0, not "${given}".`);
};

/** Reads the tasks that match: all that have not ended, and the newest others, `most` in all. */
const listTasks = async (client: StatusApiClient, query: Omit<TaskListQuery, "limit">, most: number) => {
  const newest = await client.allTasks(query, most);
  if (!newest.ok || query.status !== undefined) return newest;
  // A task that still runs is shown however long ago it was launched.
  const tasks = new Map<string, ApiTask>();
  for (const status of ["running", "resumed"] as const) {
    const live = await client.allTasks({ ...query, status });
    if (!live.ok) return live;
    for (const task of live.value) tasks.set(task.sessionID, task);
  }
  for (const task of newest.value) if (tasks.size < most || !hasEnded(task)) tasks.set(task.sessionID, task);
  return { ok: true as const, value: [...tasks.values()] };
};

/** The tasks that are shown, and what they used; of a session or a batch, what all of its tasks used. */
interface Listed {
  tasks: ApiTask[];
  usage: Usage;
}

/** The part of a query that names a session or a batch; undefined where it names neither. */
const groupOf = ({ parent, batch }: StoredQuery): Pick<StoredQuery, "parent" | "batch"> | undefined =>
  parent === undefined && batch === undefined
    ? undefined
    : { ...(parent === undefined ? {} : { parent }), ...(batch === undefined ? {} : { batch }) };

const listLive = async (client: StatusApiClient, query: Omit<TaskListQuery, "limit">, most: number) => {
  const tasks = await listTasks(client, query, most);
  if (!tasks.ok) return tasks;
  const group = groupOf(query);
  const usage = group ? await client.groupUsage(group) : { ok: true as const, value: ownUsage(tasks.value) };
  return usage.ok ? { ok: true as const, value: { tasks: tasks.value, usage: usage.value } } : usage;
};

const listStored = (journals: JournalReader, query: StoredQuery, most: number): Listed => {
  const tasks = readStoredTasks(journals, query, most);
  const group = groupOf(query);
  const usage = group ? usageWithBelow(readStoredTasks(journals, group, Number.POSITIVE_INFINITY)) : ownUsage(tasks);
  return { tasks, usage };
};

/** `opencode-taskchart list`: lists tasks, those that wait for a person first. */
export const listCommand = ({ terminal }: CommandContext) =>
  command("list", "list tasks, those that wait for you first")
    .alias("ls")
    .addOption(new Option("--status <status>", "only those with this status").choices(TASK_STATUSES))
    .option("--agent <name>", "only those of this agent")
    .option("--batch <id>", "only those of this batch")
    .option("--parent <session>", "only those that this session launched: its whole id")
    .option("--directory <folder>", "only those of this project folder")
    .option("--search <words>", "only those with these words in their description, prompt or result")
    .option("--limit <count>", "how many ended ones at most", readLimit, DEFAULT_LIMIT)
    .addHelpText(
      "after",
      `
Tasks that have not ended are all listed. Without a running OpenCode they are read from the task database.
With --parent or --batch, the last line sums up what all tasks of that session or batch used, with all below them.
${examples(["list", "what goes on"], ["list --status error --limit 50", "what failed lately"])}`,
    )
    .action(async ({ json, data, limit, ...query }) => {
      const { value } = await readTasks<Listed>(
        {
          live: (client) => listLive(client, query, limit),
          stored: (journals) => listStored(journals, query, limit),
        },
        { data, terminal },
      );
      const { tasks, usage } = value;
      const page = { tasks, total: tasks.length, limit, offset: 0 };
      if (json) return printJson(terminal, groupOf(query) ? { ...page, usage } : page);
      if (tasks.length === 0) return terminal.print("No tasks.");
      const summary = summaryLine(tasks, usage);
      terminal.print(...taskTable(tasks, terminal, Date.now()), "", terminal.style("bold", summary));
    });
