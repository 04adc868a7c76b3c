import { Option } from "@commander-js/extra-typings";
import { TASK_STATUSES } from "../../field-values.ts";
import { type CommandContext, CommandError, command, examples, printJson } from "../command.ts";
import { readTasks } from "../read-tasks.ts";
import { summaryLine, taskTable } from "../task-table.ts";

/** Ended tasks that are listed unless more are asked for: a screen. */
const DEFAULT_LIMIT = 20;

/** Reads how many tasks to list. */
const readLimit = (given: string): number => {
  const limit = Number(given);
  if (Number.isInteger(limit) && limit > 0) return limit;
  throw new CommandError(`--limit takes a whole number above 0, not "${given}".`);
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
With --parent or --batch, the last line sums up what all tasks of that session or batch used, with all their subtasks.
${examples(["list", "what goes on"], ["list --status error --limit 50", "what failed lately"])}`,
    )
    .action(async ({ json, data, limit, ...query }) => {
      const { tasks, usage, isGroup } = await readTasks(query, limit, { data, terminal });
      const page = { tasks, total: tasks.length, limit, offset: 0 };
      if (json) return printJson(terminal, isGroup ? { ...page, usage } : page);
      if (tasks.length === 0) return terminal.print("No tasks.");
      const summary = summaryLine(tasks, usage);
      terminal.print(...taskTable(tasks, terminal, Date.now()), "", terminal.style("bold", summary));
    });
