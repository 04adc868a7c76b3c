import type { LaunchStep } from "../../machines/launch/replay.ts";
import type { TaskInput } from "../../machines/task/events.ts";
import { statusOf } from "../../machines/task/machine.ts";
import { type Journal, walk } from "../../machines/task/replay.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { snapshotDifferences } from "../../services/replay/differences.ts";
import { formatUsage } from "../../services/text/amounts.ts";
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
import { compareReplay, formatLaunch, formatSteps } from "../format-replay.ts";
import { journalOf, originLine, readExported, withJournals } from "../task-database.ts";
import { resumedText, type Terminal } from "../terminal.ts";

const headerLines = ({ taskId, snapshot }: Journal, terminal: Terminal): string[] => {
  const { facts, run } = snapshot.context;
  const words = `${taskId}: ${statusOf(snapshot)}, agent ${facts.agent}${resumedText(run.index)}`;
  return [terminal.style("bold", toSingleLine(facts.description)), toSingleLine(words)];
};

const costLines = (usage: Usage | undefined): string[] => {
  const cost = usage && formatUsage(usage);
  return cost === undefined ? [] : [`Cost, with its subtasks: ${cost}.`];
};

/** Returns the steps of a task's launch, where they are known. */
const launchOf = async ({ launch, run, facts }: TaskInput): Promise<LaunchStep[] | undefined> => {
  if (!launch) return undefined;
  const { replayLaunch } = await import("../../machines/launch/replay.ts");
  return replayLaunch(launch, run.messageID, facts.parentSessionID);
};

/** Prints the steps of the journal and the comparison with the stored snapshot, or what else is wanted of it. */
const show = async (
  journal: Journal,
  more: string[],
  context: CommandContext,
  { json, until, step }: { json: boolean; until?: string | undefined; step: boolean },
) => {
  const { terminal, end } = context;
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
  const walked = walk(origin, events);
  const { steps } = walked;
  const replayed = { steps, snapshot: walked.snapshots.at(-1) ?? walked.snapshots[0] };
  const compare = (): string[] => {
    const { isSame, lines } = compareReplay(replayed, snapshot, terminal);
    if (!isSame) end(EXIT.found);
    return lines;
  };
  if (step) {
    const { stepThrough } = await import("../step-replay.ts");
    return stepThrough(walked, until, terminal, compare);
  }
  if (until !== undefined) {
    const { showPosition } = await import("../step-replay.ts");
    return showPosition(walked, journal, until, context, json);
  }
  const lines = compare();
  const launch = await launchOf(origin);
  if (json) {
    const found = snapshotDifferences(replayed.snapshot, snapshot);
    return printJson(terminal, {
      taskId,
      isComplete: true,
      isSame: found.length === 0 && steps.every(({ refused }) => refused === undefined),
      differences: found,
      ...(launch ? { launch } : {}),
      steps,
    });
  }
  if (launch) terminal.print(...formatLaunch(launch, terminal), "");
  terminal.print(...formatSteps(steps, terminal), "", ...lines);
};

export const replayCommand = (context: CommandContext) =>
  command("replay", "replay a task's journal, and compare it with what is stored")
    .argument("[task-id]", TASK_ID)
    .option("--file <file>", "an exported journal, from this machine or another")
    .option(
      "--until <event>",
      "stop before an event, and show the state, what had been asked for and what was possible: a number, a name, or end",
    )
    .option("--step", "go on event by event: enter for the next one, h for help; a script writes the same lines")
    .addHelpText(
      "after",
      `
Exit code: 0 if it matches the stored snapshot, 1 if it differs, 3 if the journal does not start at the launch.
${examples(
  ["replay 4f5c9a", "every step of a task"],
  ["replay --file task.json", "the same of an exported journal"],
  ["replay 4f5c9a --until NOTICE_COMPOSED", "where it stood before its notice was written"],
  ["replay 4f5c9a --step", "one event after the other"],
)}`,
    )
    .action(async (id, { file: path, json = false, data, until, step = false }) => {
      if (json && step) throw new CommandError("--step cannot be combined with --json. Use --until <event> --json.");
      const wanted = { json, until, step };
      if (path !== undefined) {
        if (id !== undefined || data !== undefined) {
          throw new CommandError("--file cannot be combined with a task id or --data.");
        }
        const { parseExportedJournal } = await import("../../services/replay/export-file.ts");
        const file = readExported(path, parseExportedJournal);
        return show(file.journal, [originLine(file)], context, wanted);
      }
      if (id === undefined) throw new CommandError("Give the id of a task, or --file with an exported journal.");
      const { journal, usage } = await withJournals(data, (journals) => {
        const found = journalOf(journals, taskIdOf(id));
        return { journal: found, usage: journals.usage(found.taskId) };
      });
      await show(journal, costLines(usage), context, wanted);
    });
