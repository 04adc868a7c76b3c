import { readFileSync } from "node:fs";
import type { Journal } from "../../machines/task/journal.ts";
import { statusOf } from "../../machines/task/machine.ts";
import { replay } from "../../machines/task/replay.ts";
import { errorMessage } from "../../services/platform/log.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { type ExportedFile, parse } from "../../services/replay/export-file.ts";
import { type Command, CommandError, EXIT, type ExitCode } from "../command.ts";
import { formatSteps } from "../format/steps.ts";
import { compareReplay } from "../format/verdict.ts";
import { readArguments } from "../parse-arguments.ts";
import { journalOf, withJournals } from "../task-database.ts";
import type { Terminal } from "../terminal.ts";

const HELP = `Usage: opencode-taskchart replay <task-id> [--data <folder>]
       opencode-taskchart replay --file <exported.json>

Takes a task through its journal, event by event, shows what its chart makes of each, and compares
where that leads with the snapshot that is stored. Nothing is changed: OpenCode may be running.

  <task-id>        a task's id, or the beginning of it
  --data <folder>  where the tasks are kept; default: $XDG_DATA_HOME/opencode-taskchart
                   or ~/.local/share/opencode-taskchart
  --file <file>    a journal that was exported, on this machine or another

Exit code: 0 it leads to the stored snapshot; 1 it does not; 2 it could not be replayed, for the reason
that is said; 3 the journal does not go back to the task's launch.`;

const readFile = (path: string): ExportedFile => {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new CommandError(`The file cannot be read: ${errorMessage(error)}.`);
  }
  const read = parse(text);
  if ("wrong" in read)
    throw new CommandError(`The file ${path} ${read.wrong}. The command "export" writes such files.`);
  return read;
};

const headLines = ({ taskId, snapshot }: Journal, screen: Terminal): string[] => {
  const { facts, run } = snapshot.context;
  const resumed = run.index === 0 ? "" : `, resumed ${run.index === 1 ? "once" : `${run.index} times`}`;
  const words = `${taskId}: ${statusOf(snapshot)}, agent ${facts.agent}${resumed}`;
  return [screen.paint("bold", toSingleLine(facts.description)), toSingleLine(words)];
};

const originLines = ({ facts }: ExportedFile): string[] => {
  const text = facts.hasText ? "" : ", without text";
  return [`Exported at ${facts.exportedAt} by version ${toSingleLine(facts.plugin)}${text}.`];
};

/** Shows the journal, and how it compares. */
const show = (journal: Journal, more: string[], screen: Terminal): ExitCode => {
  screen.say(...headLines(journal, screen), ...more, "");
  const { origin, events, snapshot } = journal;
  if (!origin) {
    screen.say(
      "The journal does not go back to the task's launch, since an earlier file of tasks was damaged. The events that it",
      `has, ${events.length}, cannot be replayed.`,
    );
    return EXIT.incomplete;
  }
  const replayed = replay(origin, events);
  const { isSame, lines } = compareReplay(replayed, snapshot, screen);
  screen.say(...formatSteps(replayed.steps, screen), "", ...lines);
  return isSame ? EXIT.ok : EXIT.differs;
};

/** `opencode-taskchart replay` */
export const replayCommand: Command = {
  summary: "take a task through its journal, and compare with what is stored",
  help: HELP,
  run: async (args, screen) => {
    const { values, argument } = readArguments(args, { file: { type: "string" }, data: { type: "string" } });
    if (values.file !== undefined) {
      if (argument !== undefined || values.data !== undefined) {
        throw new CommandError("--file is for a journal by itself: leave the task id and --data out.");
      }
      const file = readFile(values.file);
      return show(file.journal, originLines(file), screen);
    }
    if (argument === undefined) throw new CommandError("Say which task: its id, or --file with an exported journal.");
    const journal = await withJournals(values.data, (journals) => journalOf(journals, argument));
    return show(journal, [], screen);
  },
};
