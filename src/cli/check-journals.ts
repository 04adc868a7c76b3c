import { wrap } from "../services/platform/columns.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import type { Breach } from "../services/promises/account.ts";
import { type CheckedPromise, checkJournal, JOURNAL_PROMISES } from "../services/promises/check-journal.ts";
import { parseExported, type RecordedJournal } from "../services/promises/exported-journal.ts";
import { type CommandContext, EXIT, printJson } from "./command.ts";
import { originLine, readExported, withJournals } from "./task-database.ts";
import { clockTime, count, type Terminal } from "./terminal.ts";

/** True where a journal keeps everything that is promised. */
export const keepsAll = (checked: readonly CheckedPromise[]): boolean =>
  checked.every(({ breaches }) => breaches.length === 0);

/** Formats what is wrong at an event, or in the snapshot. */
const breachLines = ({ event, what }: Breach, { events }: RecordedJournal, terminal: Terminal): string[] => {
  const found = event === undefined ? undefined : events[event - 1];
  const place = found ? `event ${event}, ${clockTime(found.at)} ${found.type},` : "In the snapshot,";
  return wrap(toSingleLine(`${place} ${what}.`), terminal.columns - 4).map(
    (line) => `    ${terminal.style("red", line)}`,
  );
};

/** Formats each promise, and what breaks it, as wide as the screen. */
export const promiseLines = (
  checked: readonly CheckedPromise[],
  journal: RecordedJournal,
  terminal: Terminal,
): string[] => {
  const widest = Math.max(...checked.map(({ name }) => name.length));
  const indent = widest + 4;
  return checked.flatMap(({ name, says, breaches }) => {
    const isBroken = breaches.length > 0;
    const mark = isBroken ? terminal.style("red", "✗") : terminal.style("green", "✓");
    const lines = wrap(says, Math.max(terminal.columns - indent, 20));
    return [
      ...lines.map((line, row) => {
        const head = row === 0 ? `${mark} ${terminal.style("bold", name.padEnd(widest))}` : " ".repeat(indent - 2);
        return `${head}  ${line}`;
      }),
      ...breaches.flatMap((breach) => breachLines(breach, journal, terminal)),
    ];
  });
};

/** Describes in a line what became of a check. */
export const verdictLine = (
  checked: readonly CheckedPromise[],
  { events }: RecordedJournal,
  terminal: Terminal,
): string => {
  const broken = checked.filter(({ breaches }) => breaches.length > 0).length;
  const of = count(events.length, "event");
  return broken === 0
    ? terminal.style("green", `The journal keeps all ${checked.length} promises: ${of}.`)
    : terminal.style("red", `The journal breaks ${broken} of ${checked.length} promises: ${of}.`);
};

/** What came of checking a journal; nothing is checked of one that does not begin at the launch. */
const resultOf = (journal: RecordedJournal) => {
  const promises = checkJournal(journal);
  return {
    taskId: journal.taskId,
    isComplete: promises !== undefined,
    isKept: promises && keepsAll(promises),
    promises,
  };
};

const headerLines = ({ taskId, snapshot }: RecordedJournal, terminal: Terminal): string[] => {
  const { description, agent } = snapshot.context.facts;
  return [
    terminal.style("bold", toSingleLine(description)),
    toSingleLine(`${taskId}: ${snapshot.value.lifecycle}, agent ${agent}`),
  ];
};

/** Checks an exported journal, and shows what is promised of it and what it breaks. */
export const checkFile = (path: string, { terminal, end }: CommandContext, json: boolean) => {
  const file = readExported(path, parseExported);
  const { journal } = file;
  const result = resultOf(journal);
  if (!result.isComplete) end(EXIT.incomplete);
  else if (!result.isKept) end(EXIT.found);
  if (json) return printJson(terminal, result);
  terminal.print(...headerLines(journal, terminal), originLine(file), "");
  if (!result.promises)
    return terminal.print("The journal does not start at the task's launch, so that nothing can be said of it.");
  terminal.print(
    ...promiseLines(result.promises, journal, terminal),
    "",
    verdictLine(result.promises, journal, terminal),
  );
};

/**
 * Checks the journals of all stored tasks, and shows those that break a promise. One is read after the other: all of them at
 * once may be more than fits into memory.
 */
export const checkStored = async (data: string | undefined, { terminal, end }: CommandContext, json: boolean) => {
  const checked = await withJournals(data, (journals) =>
    journals.launchedBetween(0, Number.MAX_SAFE_INTEGER).flatMap(({ id }) => {
      const journal = journals.journal(id);
      if (!journal) return [];
      const result = resultOf(journal);
      return { result, journal: result.isKept === false ? journal : undefined };
    }),
  );
  const broken = checked.filter(({ result }) => result.isKept === false);
  if (broken.length > 0) end(EXIT.found);
  if (json) {
    return printJson(
      terminal,
      checked.map(({ result }) => result),
    );
  }
  for (const { result, journal } of broken) {
    if (!journal || !result.promises) continue;
    const lines = promiseLines(
      result.promises.filter(({ breaches }) => breaches.length > 0),
      journal,
      terminal,
    );
    terminal.print(...headerLines(journal, terminal), ...lines, "");
  }
  terminal.print(
    ...sumLines(checked.map(({ result }) => result)).map((line) =>
      terminal.style(broken.length === 0 ? "green" : "red", line),
    ),
  );
};

/** Describes what became of checking several journals. */
const sumLines = (results: readonly ReturnType<typeof resultOf>[]): string[] => {
  const whole = results.filter(({ isComplete }) => isComplete);
  const broken = whole.filter(({ isKept }) => !isKept).length;
  const partial = results.length - whole.length;
  return [
    broken === 0
      ? `All ${JOURNAL_PROMISES.length} promises are kept: ${count(whole.length, "journal")}.`
      : `A promise is broken in ${broken} of ${count(whole.length, "journal")}.`,
    ...(partial === 0 ? [] : [`Not checked: ${count(partial, "journal")} without the task's launch.`]),
  ];
};
