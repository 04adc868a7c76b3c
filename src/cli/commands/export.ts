import { writeFileSync } from "node:fs";
import manifest from "../../../package.json" with { type: "json" };
import { errorMessage } from "../../services/platform/log.ts";
import { type CommandContext, CommandError, command, examples, printJson, TASK_ID, taskIdOf } from "../command.ts";
import { journalOf, withJournals } from "../task-database.ts";

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
export const exportCommand = ({ terminal }: CommandContext) =>
  command(
    "export",
    "write a task's journal to a file, without its text, for somebody else to replay",
    "Write a task's journal as JSON, for somebody else to replay. Prompts, results, descriptions, messages, questions, paths and batch names are replaced by placeholders, the same for equal texts. Ids, times, numbers, and the names of agents and models stay.",
  )
    .argument("<task-id>", TASK_ID)
    .option("--out <file>", "the file to write (default: standard output)")
    .option("--force", "overwrite an existing file")
    .option("--with-text", "replace nothing: the file then contains your prompts, the agents' results and code")
    .addHelpText("after", examples(["export 4f5c9a --out task.json", "a journal to attach to a report"]))
    .action(async (id, { out, force = false, withText = false, json, data }) => {
      const { serialize } = await import("../../services/replay/export-file.ts");
      const exported = await withJournals(data, (journals) => {
        const journal = journalOf(journals, taskIdOf(id));
        const exportedAt = new Date().toISOString();
        const facts = { exportedAt, plugin: manifest.version, schema: journals.schema, hasText: withText };
        return { text: serialize(journal, facts), events: journal.events.length };
      });
      if (out === undefined) return terminal.print(exported.text.trimEnd());
      write(out, exported.text, force);
      if (json) return printJson(terminal, { file: out, events: exported.events, hasText: withText });
      terminal.print(
        `Written to ${out}: ${exported.events} events, ${withText ? "with all its text" : "without text"}.`,
      );
    });
