import { writeFileSync } from "node:fs";
import manifest from "../../../package.json" with { type: "json" };
import { errorMessage } from "../../services/platform/log.ts";
import { serialize } from "../../services/replay/export-file.ts";
import { type Command, CommandError, EXIT } from "../command.ts";
import { readArguments } from "../parse-arguments.ts";
import { journalOf, withJournals } from "../task-database.ts";

const HELP = `Usage: opencode-taskchart export <task-id> [--out <file>] [--force] [--with-text] [--data <folder>]

Writes a task's journal as JSON, for somebody else to replay. Prompts, results, descriptions, messages,
questions, paths and names of batches are left out: a placeholder stands for each text, the same for the
same text. Ids, times, numbers, and the names of agents and models stay.

  <task-id>        a task's id, or the beginning of it
  --out <file>     where to write it; default: standard output
  --force          take the place of a file that is there
  --with-text      leave nothing out: with it goes what you, your agents and your code said
  --data <folder>  where the tasks are kept; default: $XDG_DATA_HOME/opencode-taskchart
                   or ~/.local/share/opencode-taskchart

Exit code: 0 it is written; 2 it is not, for the reason that is said.`;

const isThere = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "EEXIST";

const write = (path: string, text: string, force: boolean) => {
  try {
    // It may hold a conversation: nobody else's business.
    writeFileSync(path, text, { flag: force ? "w" : "wx", mode: 0o600 });
  } catch (error) {
    throw new CommandError(
      isThere(error)
        ? `There is a file ${path} already. --force takes its place.`
        : `The file cannot be written: ${errorMessage(error)}.`,
    );
  }
};

/** `opencode-taskchart export` */
export const exportCommand: Command = {
  summary: "write a task's journal to a file, without its text, for somebody else to replay",
  help: HELP,
  run: async (args, screen) => {
    const { values, argument } = readArguments(args, {
      out: { type: "string" },
      force: { type: "boolean", default: false },
      "with-text": { type: "boolean", default: false },
      data: { type: "string" },
    });
    if (argument === undefined) throw new CommandError("Say which task: its id.");
    const exported = await withJournals(values.data, (journals) => {
      const journal = journalOf(journals, argument);
      const exportedAt = new Date().toISOString();
      const facts = { exportedAt, plugin: manifest.version, schema: journals.schema, hasText: values["with-text"] };
      return { text: serialize(journal, facts), events: journal.events.length };
    });
    if (values.out === undefined) {
      screen.say(exported.text.trimEnd());
      return EXIT.ok;
    }
    write(values.out, exported.text, values.force);
    const left = values["with-text"] ? "with all its text" : "without text";
    screen.say(`Written to ${values.out}: ${exported.events} events, ${left}.`);
    return EXIT.ok;
  },
};
