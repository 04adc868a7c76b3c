import { writeFileSync } from "node:fs";
import manifest from "../../../package.json" with { type: "json" };
import { wrap } from "../../services/platform/columns.ts";
import { errorMessage } from "../../services/platform/log.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import type { Breach } from "../../services/promises/account.ts";
import { checkJournal, JOURNAL_PROMISES } from "../../services/promises/check-journal.ts";
import { parseExported, type RecordedJournal } from "../../services/promises/exported-journal.ts";
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
import { journalOf, originLine, readExported, withJournals } from "../task-database.ts";
import { clockTime, count, type Terminal } from "../terminal.ts";

/** Checks a journal, as `--json` prints it. Nothing is checked of one that does not begin at the launch. */
const resultOf = (journal: RecordedJournal) => {
  const promises = checkJournal(journal);
  return {
    taskId: journal.taskId,
    isComplete: promises !== undefined,
    isKept: promises?.every(({ breaches }) => breaches.length === 0),
    promises,
  };
};
type Result = ReturnType<typeof resultOf>;

const breachLines = ({ event, what }: Breach, { events }: RecordedJournal, terminal: Terminal): string[] => {
  const found = event === undefined ? undefined : events[event - 1];
  const place = found ? `event ${event}, ${clockTime(found.at)} ${found.type},` : "In the snapshot,";
  return wrap(toSingleLine(`${place} ${what}.`), terminal.columns - 4).map(
    (line) => `    ${terminal.style("red", line)}`,
  );
};

/** Formats each promise, and what breaks it, as wide as the screen. */
const promiseLines = (
  checked: NonNullable<Result["promises"]>,
  journal: RecordedJournal,
  terminal: Terminal,
): string[] => {
  const widest = Math.max(...checked.map(({ name }) => name.length));
  const indent = widest + 4;
  return checked.flatMap(({ name, says, breaches }) => {
    const mark = breaches.length > 0 ? terminal.style("red", "✗") : terminal.style("green", "✓");
    return [
      ...wrap(says, Math.max(terminal.columns - indent, 20)).map((line, row) => {
        const head = row === 0 ? `${mark} ${terminal.style("bold", name.padEnd(widest))}` : " ".repeat(indent - 2);
        return `${head}  ${line}`;
      }),
      ...breaches.flatMap((breach) => breachLines(breach, journal, terminal)),
    ];
  });
};

const headerLines = ({ taskId, snapshot }: RecordedJournal, terminal: Terminal): string[] => {
  const { description, agent } = snapshot.context.facts;
  return [
    terminal.style("bold", toSingleLine(description)),
    toSingleLine(`${taskId}: ${snapshot.value.lifecycle}, agent ${agent}`),
  ];
};

/** Checks an exported journal, and shows what is promised of it and what it breaks. */
const checkFile = (path: string, { terminal, end }: CommandContext, json: boolean) => {
  const file = readExported(path, parseExported);
  const { journal } = file;
  const result = resultOf(journal);
  const { promises } = result;
  if (!promises) end(EXIT.incomplete);
  else if (!result.isKept) end(EXIT.found);
  if (json) return printJson(terminal, result);
  terminal.print(...headerLines(journal, terminal), originLine(file), "");
  if (!promises)
    return terminal.print("The journal does not start at the task's launch, so that nothing can be said of it.");
  const broken = promises.filter(({ breaches }) => breaches.length > 0).length;
  const of = count(journal.events.length, "event");
  terminal.print(
    ...promiseLines(promises, journal, terminal),
    "",
    broken === 0
      ? terminal.style("green", `The journal keeps all ${promises.length} promises: ${of}.`)
      : terminal.style("red", `The journal breaks ${broken} of ${promises.length} promises: ${of}.`),
  );
};

/**
 * Checks the journals of all stored tasks, and shows those that break a promise. One is read after the other: all of them at
 * once may be more than fits into memory.
 */
const checkStored = async (data: string | undefined, { terminal, end }: CommandContext, json: boolean) => {
  const broken: [RecordedJournal, NonNullable<Result["promises"]>][] = [];
  const results = await withJournals(data, (journals) =>
    journals.launchedBetween(0, Number.MAX_SAFE_INTEGER).flatMap(({ id }) => {
      const journal = journals.journal(id);
      if (!journal) return [];
      const result = resultOf(journal);
      if (result.promises && !result.isKept) broken.push([journal, result.promises]);
      return result;
    }),
  );
  if (broken.length > 0) end(EXIT.found);
  if (json) return printJson(terminal, results);
  for (const [journal, promises] of broken) {
    const lines = promiseLines(
      promises.filter(({ breaches }) => breaches.length > 0),
      journal,
      terminal,
    );
    terminal.print(...headerLines(journal, terminal), ...lines, "");
  }
  const whole = results.filter(({ isComplete }) => isComplete).length;
  const partial = results.length - whole;
  const sums = [
    broken.length === 0
      ? `All ${JOURNAL_PROMISES.length} promises are kept: ${count(whole, "journal")}.`
      : `A promise is broken in ${broken.length} of ${count(whole, "journal")}.`,
    ...(partial === 0 ? [] : [`Not checked: ${count(partial, "journal")} without the task's launch.`]),
  ];
  terminal.print(...sums.map((line) => terminal.style(broken.length === 0 ? "green" : "red", line)));
};

export const checkCommand = (context: CommandContext) =>
  command(
    "check",
    "check a task's journal against the promises that every journal keeps",
    "Check an exported journal against the promises that every journal keeps. They are checked without the statechart that wrote the journal, so that a fault of the chart shows, which a replay would repeat.",
  )
    .argument("[file]", "an exported journal, from this machine or another")
    .option("--all", "check the journals of all stored tasks")
    .addHelpText(
      "after",
      `
Exit code: 0 if all promises are kept, 1 if one is broken, 3 if the journal does not start at the launch.
${examples(["check task.json", "an exported journal"], ["check --all", "all that is stored here"])}`,
    )
    .action(async (path, { all = false, json = false, data }) => {
      if (path !== undefined && (all || data !== undefined))
        throw new CommandError("A file cannot be combined with --all or --data.");
      if (path !== undefined) return checkFile(path, context, json);
      if (!all) throw new CommandError('Give a file written by the command "export", or --all for all stored tasks.');
      await checkStored(data, context, json);
    });

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
