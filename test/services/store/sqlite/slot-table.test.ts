import fc from "fast-check";
import { expect, test } from "vitest";
import { GOES_AHEAD_MS, type LimitedRequest } from "../../../../src/machines/task/slot-queue.ts";
import { loadSqlite } from "../../../../src/services/store/sqlite/driver.ts";
import { ensureSchema } from "../../../../src/services/store/sqlite/schema.ts";
import { createSlotTable } from "../../../../src/services/store/sqlite/slot-table.ts";
import type { QueuePlace } from "../../../../src/task.ts";
import type { SlotRow } from "../../../fakes/queue-in-memory.ts";

const KINDS = ["model", "agent", "provider", "total"] as const;
type Kind = (typeof KINDS)[number];

/**
 * Says again, by looking at every run that waits, who starts and what place each has. `rows` are those of all living
 * processes, in the order in which they asked; `now` is epoch milliseconds. Shares no code with the queue.
 */
const referencePlaces = (rows: readonly SlotRow[], now: number): Map<string, QueuePlace> => {
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

const NOW = 1_767_225_600_000;

/** The two that live, and one that is dead. */
const OWNERS = ["a", "b", "dead"] as const;
const LIVING = ["a", "b"];

const openTables = () => {
  const database = loadSqlite()(":memory:");
  ensureSchema(database);
  const tables = new Map(OWNERS.map((id) => [id, createSlotTable(database, { id })] as const));
  return { database, table: (id: (typeof OWNERS)[number]) => tables.get(id) ?? createSlotTable(database, { id }) };
};

interface Asking {
  owner: (typeof OWNERS)[number];
  request: LimitedRequest;
  isHeld: boolean;
  retriesAt: number | undefined;
}

const limit = fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined });

const asking: fc.Arbitrary<Omit<Asking, "request"> & { request: Omit<LimitedRequest, "taskId"> }> = fc.record({
  owner: fc.constantFrom(...OWNERS),
  isHeld: fc.boolean(),
  retriesAt: fc.option(fc.constantFrom(NOW - 5_000, NOW - 2_000, NOW + 9_000), { nil: undefined, freq: 12 }),
  request: fc.record({
    agent: fc.constantFrom("general", "explore"),
    model: fc.constantFrom("p/m1", "p/m2", "q/m1", undefined),
    provider: fc.constant(undefined),
    priority: fc.integer({ min: -1, max: 1 }),
    // Of the same millisecond, of neighbouring ones, and of others far away.
    since: fc.oneof(fc.constantFrom(NOW, NOW + 1, NOW + 127, NOW + 128), fc.integer({ min: NOW - 2 ** 36, max: NOW })),
    goesOn: fc.boolean(),
    limits: fc.record({ total: limit, provider: limit, model: limit, agent: limit }),
  }),
});

/** What happens to a queue, and to which of its runs. */
const change = fc.record({
  what: fc.constantFrom("start", "end", "is taken over" as const),
  which: fc.nat(),
});

test("whoever asks, starts, ends or is taken over: those that start, and all places, are what a look at every run finds", {
  timeout: 120_000,
}, () => {
  const { database, table } = openTables();
  fc.assert(
    fc.property(fc.array(asking, { maxLength: 30 }), fc.array(change, { maxLength: 12 }), (drawn, changes) => {
      database.exec("DELETE FROM slot");
      const all: Asking[] = drawn.map((each, index) => {
        const provider = each.request.model?.slice(0, 1);
        return { ...each, request: { ...each.request, provider, taskId: `ses_${index}` } };
      });
      const retries = database.prepare("UPDATE slot SET retries_at = ? WHERE task = ?");
      const look = { now: NOW, alive: LIVING, responsive: LIVING };
      database.transaction(() => {
        for (const { owner, request, isHeld, retriesAt } of all) {
          table(owner).note(isHeld ? [] : [request], isHeld ? [request] : [], look);
          if (retriesAt !== undefined) retries.run(retriesAt, request.taskId);
        }
      });
      const open = new Map(all.map((each) => [each.request.taskId, each]));
      const rows = (): SlotRow[] =>
        [...open.values()]
          .filter(({ owner }) => LIVING.includes(owner))
          .map(({ request, isHeld, retriesAt }) => ({ ...request, isHeld, ...(retriesAt ? { retriesAt } : {}) }));
      const check = () => {
        const expected = referencePlaces(rows(), NOW);
        const places = table("a").places([...open.keys()], 0, look);
        expect(new Map([...places].sort())).toEqual(new Map([...expected].sort()));
        return [...expected].flatMap(([taskId, { heldUpBy }]) => (heldUpBy ? [] : taskId));
      };
      for (const { what, which } of changes) {
        const startable = check();
        const each = [...open.values()][which % Math.max(1, open.size)];
        if (!each) break;
        const { taskId } = each.request;
        database.transaction(() => {
          if (what === "start") {
            const mine = startable.filter((id) => open.get(id)?.owner === each.owner);
            const started = table(each.owner).start((id) => open.get(id)?.owner === each.owner, look);
            expect(started.toSorted()).toEqual(mine.toSorted());
            for (const id of started) Object.assign(open.get(id) ?? {}, { isHeld: true });
          } else if (what === "end") {
            database.prepare("DELETE FROM slot WHERE task = ?").run(taskId);
            open.delete(taskId);
          } else {
            database.prepare("UPDATE slot SET owner = 'b' WHERE task = ?").run(taskId);
            each.owner = "b";
          }
        });
      }
      check();
    }),
    { numRuns: 300 },
  );
  database.close();
});

test("the counts of runs that wait are those of the rows, and none is left when all have gone", () => {
  const { database, table } = openTables();
  const request: LimitedRequest = {
    ...{ taskId: "ses_1", agent: "general", provider: "p", model: "p/m1", priority: 0, since: NOW, goesOn: false },
    limits: { total: 1 },
  };
  const ids = Array.from({ length: 300 }, (_, index) => `ses_${index}`);
  const look = { now: NOW, alive: LIVING, responsive: LIVING };
  database.transaction(() =>
    table("a").note(
      ids.map((taskId) => ({ ...request, taskId })),
      [],
      look,
    ),
  );
  const places = table("a").places(ids, 0, look);
  expect(ids.map((id) => places.get(id)?.place)).toEqual(ids.map((_, index) => Math.max(1, index + 1)));
  database.transaction(() => table("a").note([{ ...request, limits: { total: 2 } }], [], look));
  database.exec("UPDATE slot SET state = 1 WHERE seq % 2; DELETE FROM slot");
  expect(database.prepare("SELECT * FROM queue_count").all()).toEqual([]);
  database.close();
});
