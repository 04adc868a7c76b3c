import { writeFileSync } from "node:fs";
import manifest from "../../../package.json" with { type: "json" };
import { errorMessage } from "../../services/platform/log.ts";
import { serialize } from "../../services/replay/export-file.ts";
import { type Command, CommandError, EXIT, parseArguments } from "../command.ts";
import { journalOf, withJournals } from "../task-database.ts";

const HELP = `Usage: opencode-taskchart export <task-id> [--out <file>] [--force] [--with-text] [--data <folder>]

Writes a task's journal as JSON, for somebody else to replay. Prompts, results, descriptions, messages,
questions, paths and batch names are replaced by placeholders, the same for equal texts. Ids, times,
numbers, and the names of agents and models stay.

  <task-id>        a task's id, or the beginning of it
  --out <file>     the file to write; default: standard output
  --force          overwrite an existing file
  --with-text      replace nothing: the file then contains your prompts, the agents' results and code
  --data <folder>  the plugin's data folder; default: $XDG_DATA_HOME/opencode-taskchart
                   or ~/.local/share/opencode-taskchart

Exit code: 0 if written; 2 if it failed, with the reason on standard error.`;

const existsAlready = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "EEXIST";

const write = (path: string, text: string, force: boolean) => {
  try {
    // It may contain a conversation, so only the user may read it.
    writeFileSync(path, text, { flag: force ? "w" : "wx", mode: 0o600 });
  } catch (error) {
    throw new CommandError(
      existsAlready(error)
        ? `The file ${path} already exists. Use --force to overwrite it.`
        : `The file cannot be written: ${errorMessage(error)}.`,
    );
  }
};

/** `opencode-taskchart export`: writes a task's journal as JSON. */
export const exportCommand: Command = {
  summary: "write a task's journal to a file, without its text, for somebody else to replay",
  help: HELP,
  run: async (args, terminal) => {
    const { values, argument } = parseArguments(args, {
      out: { type: "string" },
      force: { type: "boolean", default: false },
      "with-text": { type: "boolean", default: false },
      data: { type: "string" },
    });
    if (argument === undefined) throw new CommandError("Give the id of a task.");
    const exported = await withJournals(values.data, (journals) => {
      const journal = journalOf(journals, argument);
      const exportedAt = new Date().toISOString();
      const facts = { exportedAt, plugin: manifest.version, schema: journals.schema, hasText: values["with-text"] };
      return { text: serialize(journal, facts), events: journal.events.length };
    });
    if (values.out === undefined) {
      terminal.print(exported.text.trimEnd());
      return EXIT.ok;
    }
    write(values.out, exported.text, values.force);
    const content = values["with-text"] ? "with all its text" : "without text";
    terminal.print(`Written to ${values.out}: ${exported.events} events, ${content}.`);
    return EXIT.ok;
  },
};
