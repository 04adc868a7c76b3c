import { type StoredSnapshot, statePath } from "../../machines/task/machine.ts";
import type { Replay } from "../../machines/task/replay.ts";
import { toSingleLine, truncate, truncateStart } from "../../services/platform/plain-text.ts";
import { type Difference, differences } from "../../services/replay/differences.ts";
import { type Terminal, wrap } from "../terminal.ts";

/** Characters of each value that are shown. */
const SHOWN_CHARS = 70;

/** Characters that are shown before the first difference within a long value. */
const LEAD_CHARS = 20;

/** The result of comparing a replay with the stored snapshot. */
export interface Verdict {
  isSame: boolean;
  lines: string[];
}

const count = (many: number, what: string): string => `${many} ${what}${many === 1 ? "" : "s"}`;

const text = (value: unknown): string => (value === undefined ? "nothing" : toSingleLine(JSON.stringify(value)));

/** Writes both values; long ones from shortly before the first difference. */
const formatValues = ({ journal, stored }: Difference): [string, string] => {
  const [one, other] = [text(journal), text(stored)];
  let same = 0;
  while (same < one.length && one[same] === other[same]) same += 1;
  const start = one.length <= SHOWN_CHARS && other.length <= SHOWN_CHARS ? 0 : Math.max(0, same - LEAD_CHARS);
  const shown = (whole: string) => {
    const rest = truncateStart(whole, start);
    return `${start > 0 ? "…" : ""}${truncate(rest, SHOWN_CHARS)}${rest.length > SHOWN_CHARS ? "…" : ""}`;
  };
  return [shown(one), shown(other)];
};

/** Compares a replay with the stored snapshot. A refused event is a difference too: a journal holds accepted events only. */
export const compareReplay = ({ steps, snapshot }: Replay, stored: StoredSnapshot, terminal: Terminal): Verdict => {
  const found = differences(snapshot, stored);
  const refused = steps.filter((step) => step.refused !== undefined).length;
  const regions = Object.entries(stored.value).map(([region, value]) => `${region} ${statePath(value)}`);
  if (found.length === 0 && refused === 0) {
    const words = `The journal replays to the stored snapshot: ${count(steps.length, "event")}, ${regions.join(", ")}.`;
    return {
      isSame: true,
      lines: wrap(toSingleLine(words), terminal.columns).map((line) => terminal.style("green", line)),
    };
  }
  const all = [
    ...(refused > 0 ? [`${count(refused, "event")} refused, see above`] : []),
    ...(found.length > 0 ? [count(found.length, "difference")] : []),
  ];
  return {
    isSame: false,
    lines: [
      terminal.style("red", `The journal does not replay to the stored snapshot: ${all.join("; ")}.`),
      ...found.flatMap((difference) => {
        const [journal, kept] = formatValues(difference);
        return [
          `  ${toSingleLine(difference.path)}`,
          `    ${terminal.style("gray", "journal")}  ${journal}`,
          `    ${terminal.style("gray", "stored ")}  ${kept}`,
        ];
      }),
    ],
  };
};
