import { type StoredSnapshot, statePath } from "../../machines/task/machine.ts";
import type { Replay } from "../../machines/task/replay.ts";
import { toSingleLine, truncate, truncateStart } from "../../services/platform/plain-text.ts";
import { type Difference, differences } from "../../services/replay/differences.ts";
import { type Terminal, wrap } from "../terminal.ts";

/** Characters of a value that are shown. */
const SHOWN = 70;

/** Characters that are shown before the first that differs. */
const LEAD = 20;

/** How a replay compares with the stored snapshot. */
export interface Verdict {
  isSame: boolean;
  lines: string[];
}

const count = (many: number, what: string): string => `${many} ${what}${many === 1 ? "" : "s"}`;

const text = (value: unknown): string => (value === undefined ? "nothing" : toSingleLine(JSON.stringify(value)));

/** Both values from a little before the place where they part, where they are long. */
const sides = ({ journal, stored }: Difference): [string, string] => {
  const [one, other] = [text(journal), text(stored)];
  let parting = 0;
  while (parting < one.length && one[parting] === other[parting]) parting += 1;
  const start = one.length <= SHOWN && other.length <= SHOWN ? 0 : Math.max(0, parting - LEAD);
  const shown = (whole: string) => {
    const rest = truncateStart(whole, start);
    return `${start > 0 ? "…" : ""}${truncate(rest, SHOWN)}${rest.length > SHOWN ? "…" : ""}`;
  };
  return [shown(one), shown(other)];
};

/** Compares, and says what it finds. An event that was refused is a difference: the journal has accepted ones only. */
export const compareReplay = ({ steps, snapshot }: Replay, stored: StoredSnapshot, screen: Terminal): Verdict => {
  const found = differences(snapshot, stored);
  const refused = steps.filter((step) => step.refused !== undefined).length;
  const regions = Object.entries(stored.value).map(([region, value]) => `${region} ${statePath(value)}`);
  if (found.length === 0 && refused === 0) {
    const words = `The journal replays to the stored snapshot: ${count(steps.length, "event")}, ${regions.join(", ")}.`;
    return {
      isSame: true,
      lines: wrap(toSingleLine(words), screen.columns).map((line) => screen.paint("green", line)),
    };
  }
  const all = [
    ...(refused > 0 ? [`${count(refused, "event")} refused, see above`] : []),
    ...(found.length > 0 ? [count(found.length, "difference")] : []),
  ];
  return {
    isSame: false,
    lines: [
      screen.paint("red", `The journal does not replay to the stored snapshot: ${all.join("; ")}.`),
      ...found.flatMap((difference) => {
        const [journal, kept] = sides(difference);
        return [
          `  ${toSingleLine(difference.path)}`,
          `    ${screen.paint("gray", "journal")}  ${journal}`,
          `    ${screen.paint("gray", "stored ")}  ${kept}`,
        ];
      }),
    ],
  };
};
