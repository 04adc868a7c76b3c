import type { ModelLimits } from "../../services/fleet/nats/limits.ts";
import { toSingleLine } from "../../services/platform/plain-text.ts";
import { type Column, formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

const LIMITS: readonly Column[] = [{ title: "MODEL" }, { title: "LIMIT", align: "right" }];

/** Formats the limits of a fleet as a table, by model; no lines where there are none. */
export const limitLines = (limits: ModelLimits, screen: Terminal): string[] => {
  const rows = Object.entries(limits).sort(([one], [other]) => (one < other ? -1 : 1));
  if (rows.length === 0) return [];
  const cells = rows.map(([model, limit]) => [toSingleLine(model), limit === null ? "none" : String(limit)]);
  return formatTable(
    LIMITS,
    cells.map((texts) => ({ cells: texts.map((text) => ({ text })) })),
    screen,
  );
};
