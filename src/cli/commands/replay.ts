import { statusOf } from "../../machines/task/machine.ts";
import type { Journal } from "../../machines/task/replay.ts";
import { replay } from "../../machines/task/replay.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { differences } from "../../services/replay/differences.ts";
import { parse } from "../../services/replay/export-file.ts";
import { formatUsage } from "../../services/text/usage.ts";
import type { Usage } from "../../task.ts";
import {
  type CommandContext,
  CommandError,
  command,
  EXIT,
  examples,
  printJson,
  TASK_ID,
  taskIdOf,
} from "../command.ts";
import { originLine, readExported } from "../exported-file.ts";
import { compareReplay, formatSteps } from "../format-replay.ts";
import { journalOf, withJournals } from "../task-database.ts";
import type { Terminal } from "../terminal.ts";

const headerLines = ({ taskId, snapshot }: Journal, terminal: Terminal): string[] => {
  const { facts, run } = snapshot.context;
  const resumed = run.index === 0 ? "" : `, resumed ${run.index === 1 ? "once" : `${run.index} times`}`;
  const words = `${taskId}: ${statusOf(snapshot)}, agent ${facts.agent}${resumed}`;
  return [terminal.style("bold", toSingleLine(facts.description)), toSingleLine(words)];
};

const costLines = (usage: Usage | undefined): string[] => {
  const cost = usage && formatUsage(usage);
  return cost === undefined ? [] : [`Cost, with the tasks below it: ${cost}.`];
};

/** Prints the steps of the journal and the comparison with the stored snapshot. */
const show = (journal: Journal, more: string[], { terminal, end }: CommandContext, json: boolean) => {
  const { taskId, origin, events, snapshot } = journal;
  if (!json) terminal.print(...headerLines(journal, terminal), ...more, "");
  if (!origin) {
    end(EXIT.incomplete);
    if (json) return printJson(terminal, { taskId, isComplete: false, events });
    return terminal.print(
      "The journal does not start at the task's launch, because an earlier task database was damaged. Its events",
      `(${events.length}) cannot be replayed.`,
    );
  }
  const replayed = replay(origin, events);
  const { isSame, lines } = compareReplay(replayed, snapshot, terminal);
  if (!isSame) end(EXIT.found);
  if (json) {
    const found = differences(replayed.snapshot, snapshot);
    return printJson(terminal, { taskId, isComplete: true, isSame, differences: found, steps: replayed.steps });
  }
  terminal.print(...formatSteps(replayed.steps, terminal), "", ...lines);
};

/** `opencode-taskchart replay`: replays a task's journal and compares it with the stored snapshot. */
export const replayCommand = (context: CommandContext) =>
  command("replay", "replay a task's journal, and compare it with what is stored")
    .argument("[task-id]", TASK_ID)
    .option("--file <file>", "an exported journal, from this machine or another")
    .addHelpText(
      "after",
      `
Exit code: 0 if it matches the stored snapshot, 1 if it differs, 3 if the journal does not start at the launch.
${examples(["replay 4f5c9a", "every step of a task"], ["replay --file task.json", "the same of an exported journal"])}`,
    )
    .action(async (id, { file: path, json = false, data }) => {
      if (path !== undefined) {
        if (id !== undefined || data !== undefined) {
          throw new CommandError("--file cannot be combined with a task id or --data.");
        }
        const file = readExported(path, parse);
        return show(file.journal, [originLine(file)], context, json);
      }
      if (id === undefined) throw new CommandError("Give the id of a task, or --file with an exported journal.");
      const { journal, usage } = await withJournals(data, (journals) => {
        const found = journalOf(journals, taskIdOf(id));
        return { journal: found, usage: journals.usage(found.taskId) };
      });
      show(journal, costLines(usage), context, json);
    });
