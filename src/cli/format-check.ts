import { wrap } from "../services/platform/columns.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";
import type { Breach } from "../services/promises/account.ts";
import type { CheckedPromise } from "../services/promises/check-journal.ts";
import type { RecordedJournal } from "../services/promises/exported-journal.ts";
import { clockTime, count, type Terminal } from "./terminal.ts";

/** True where a journal keeps everything that is promised. */
export const isKept = (checked: readonly CheckedPromise[]): boolean =>
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

/** Says in a line what became of a check. */
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
