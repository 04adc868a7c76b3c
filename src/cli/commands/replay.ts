import { readFileSync } from "node:fs";
import { statusOf } from "../../machines/task/machine.ts";
import type { Journal } from "../../machines/task/replay.ts";
import { replay } from "../../machines/task/replay.ts";
import { errorMessage } from "../../services/platform/log.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { type ExportedFile, parse } from "../../services/replay/export-file.ts";
import { formatUsage } from "../../services/text/usage.ts";
import type { Usage } from "../../task.ts";
import { type Command, CommandError, EXIT, type ExitCode, parseArguments } from "../command.ts";
import { compareReplay, formatSteps } from "../format-replay.ts";
import { journalOf, withJournals } from "../task-database.ts";
import type { Terminal } from "../terminal.ts";

const HELP = `Usage: opencode-taskchart replay <task-id> [--data <folder>]
       opencode-taskchart replay --file <exported.json>

Replays a task's journal event by event, shows what its statechart does with each event, and compares
the final state with the stored snapshot. It changes nothing, and OpenCode may be running.

  <task-id>        a task's id, or the beginning of it
  --data <folder>  the plugin's data folder; default: $XDG_DATA_HOME/opencode-taskchart
                   or ~/.local/share/opencode-taskchart
  --file <file>    an exported journal, from this machine or another

Exit code: 0 if it matches the stored snapshot; 1 if it differs; 2 if it failed, with the reason on
standard error; 3 if the journal does not start at the task's launch.`;

const readFile = (path: string): ExportedFile => {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new CommandError(`The file cannot be read: ${errorMessage(error)}.`);
  }
  const read = parse(text);
  if ("wrong" in read)
    throw new CommandError(`The file ${path} ${read.wrong}. Use a file written by the command "export".`);
  return read;
};

const headerLines = ({ taskId, snapshot }: Journal, terminal: Terminal): string[] => {
  const { facts, run } = snapshot.context;
  const resumed = run.index === 0 ? "" : `, resumed ${run.index === 1 ? "once" : `${run.index} times`}`;
  const words = `${taskId}: ${statusOf(snapshot)}, agent ${facts.agent}${resumed}`;
  return [terminal.style("bold", toSingleLine(facts.description)), toSingleLine(words)];
};

const originLines = ({ facts }: ExportedFile): string[] => {
  const text = facts.hasText ? "" : ", without text";
  return [`Exported at ${facts.exportedAt} by version ${toSingleLine(facts.plugin)}${text}.`];
};

const costLines = (usage: Usage | undefined): string[] => {
  const cost = usage && formatUsage(usage);
  return cost === undefined ? [] : [`Cost, with the tasks below it: ${cost}.`];
};

/** Prints the steps of the journal and the comparison with the stored snapshot. */
const show = (journal: Journal, more: string[], terminal: Terminal): ExitCode => {
  terminal.print(...headerLines(journal, terminal), ...more, "");
  const { origin, events, snapshot } = journal;
  if (!origin) {
    terminal.print(
      "The journal does not start at the task's launch, because an earlier task database was damaged. Its events",
      `(${events.length}) cannot be replayed.`,
    );
    return EXIT.incomplete;
  }
  const replayed = replay(origin, events);
  const { isSame, lines } = compareReplay(replayed, snapshot, terminal);
  terminal.print(...formatSteps(replayed.steps, terminal), "", ...lines);
  return isSame ? EXIT.ok : EXIT.differs;
};

/** `opencode-taskchart replay`: replays a task's journal and compares it with the stored snapshot. */
export const replayCommand: Command = {
  summary: "replay a task's journal, and compare it with what is stored",
  help: HELP,
  run: async (args, terminal) => {
    const { values, argument } = parseArguments(args, { file: { type: "string" }, data: { type: "string" } });
    if (values.file !== undefined) {
      if (argument !== undefined || values.data !== undefined) {
        throw new CommandError("--file cannot be combined with a task id or --data.");
      }
      const file = readFile(values.file);
      return show(file.journal, originLines(file), terminal);
    }
    if (argument === undefined) throw new CommandError("Give the id of a task, or --file with an exported journal.");
    const { journal, usage } = await withJournals(values.data, (journals) => {
      const found = journalOf(journals, argument);
      return { journal: found, usage: journals.usage(found.taskId) };
    });
    return show(journal, costLines(usage), terminal);
  },
};
