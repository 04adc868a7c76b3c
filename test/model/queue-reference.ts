import { GOES_AHEAD_MS } from "../../src/machines/task/slot-queue.ts";
import type { QueuePlace } from "../../src/task.ts";
import type { SlotRow } from "../fakes/queue-in-memory.ts";

const KINDS = ["model", "agent", "provider", "total"] as const;
type Kind = (typeof KINDS)[number];

/**
 * Says again, by looking at every run that waits, who starts and what place each has. `rows` are those of all living
 * processes, in the order in which they asked; `now` is epoch milliseconds. Shares no code with the queue.
 */
export const referencePlaces = (rows: readonly SlotRow[], now: number): Map<string, QueuePlace> => {
  const nameOf = (row: SlotRow, kind: Kind) => (kind === "total" ? "" : row[kind]);
  const count = (of: readonly SlotRow[], kind: Kind, name: string | undefined) =>
    of.filter((row) => nameOf(row, kind) === name).length;
  const held = rows.filter(({ isHeld }) => isHeld);
  const starting: SlotRow[] = [];
  const waiting: { row: SlotRow; by: string }[] = [];
  const places = new Map<string, QueuePlace>();
  const queue = rows
    .filter(({ isHeld }) => !isHeld)
    .map((row, index) => ({ row, index }))
    .sort((a, b) => b.row.priority - a.row.priority || a.row.since - b.row.since || a.index - b.index);
  for (const { row } of queue) {
    const until = held.flatMap(({ provider, retriesAt }) =>
      provider !== undefined && provider === row.provider && retriesAt !== undefined && retriesAt + GOES_AHEAD_MS > now
        ? retriesAt
        : [],
    );
    const usedUp = KINDS.find((kind) => {
      const [limit, name] = [row.limits[kind], nameOf(row, kind)];
      return limit !== undefined && name !== undefined && count([...held, ...starting], kind, name) >= limit;
    });
    if (!row.goesOn && until.length > 0) {
      const by = `rateLimit ${row.provider}`;
      places.set(row.taskId, {
        place: 1 + waiting.filter((other) => other.by === by).length,
        heldUpBy: {
          kind: "rateLimit",
          name: row.provider ?? "",
          until: new Date(Math.max(...until)).toISOString(),
        },
      });
      waiting.push({ row, by });
    } else if (usedUp) {
      const name = nameOf(row, usedUp) ?? "";
      const by = `${usedUp} ${name}`;
      const ahead = waiting.filter((other) => other.by === by).length + count(starting, usedUp, name);
      const limit = row.limits[usedUp] ?? 0;
      places.set(row.taskId, {
        place: 1 + ahead,
        heldUpBy: { kind: usedUp, name, limit, used: count(held, usedUp, name) },
      });
      waiting.push({ row, by });
    } else {
      starting.push(row);
      places.set(row.taskId, { place: 1 });
    }
  }
  return places;
};
