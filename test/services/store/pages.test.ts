import fc from "fast-check";
import { expect, test } from "vitest";
import { createTaskQuery } from "../../../src/services/store/resilient/merged-query.ts";
import { loadSqlite } from "../../../src/services/store/sqlite/driver.ts";
import { summaryOf, type TaskSummary } from "../../../src/services/store/sqlite/listed-table.ts";
import { ensureSchema } from "../../../src/services/store/sqlite/schema.ts";
import { createSqliteStore } from "../../../src/services/store/sqlite/sqlite-store.ts";
import { createPageQuery } from "../../../src/services/store/sqlite/task-query.ts";
import type { PageFilter, Store } from "../../../src/services/store/store.ts";
import { ownerOf } from "./owners.ts";
import { openResilient, readFile } from "./resilient/open-resilient.ts";
import { START, scriptTask } from "./scripted-task.ts";

const openDatabase = loadSqlite();

/** Letters of several alphabets, in several cases and forms, and what SQL's patterns, or lines of text, give a meaning. */
const letters = [
  ..."aAbÉéßİıΣσςЯя日本%_*?[]^-\\'\"( ",
  "e\u0301",
  "\u0301",
  "\n",
  "\r",
  "\0",
  "\ud800",
  "\udc00",
  "💡",
  "\u2028",
];
const text = (maxLength: number) => fc.array(fc.constantFrom(...letters), { maxLength }).map((some) => some.join(""));

interface Drawn {
  after: number;
  agent: string;
  directory: string;
  parentSessionID: string;
  batchId: string;
  description: string;
  fate: "live" | "ended" | "resumed" | "removed";
}

const drawnTask: fc.Arbitrary<Drawn> = fc.record({
  // Few times, and in any order: many tasks are of the same millisecond, or launched earlier than those before them.
  after: fc.nat({ max: 12 }),
  agent: fc.constantFrom("general", "explore", "constructor"),
  directory: fc.constantFrom("/a", "/b"),
  parentSessionID: fc.constantFrom("ses_parent", "ses_other"),
  batchId: fc.constantFrom("one", "two", "three"),
  description: text(12),
  fate: fc.constantFrom("live", "ended", "ended", "resumed", "removed"),
});

const drawnFilter: fc.Arbitrary<PageFilter> = fc.record({
  status: fc.option(fc.constantFrom("running", "completed", "resumed", "error"), { nil: undefined }),
  agent: fc.option(fc.constantFrom("general", "explore", "nobody"), { nil: undefined }),
  directory: fc.option(fc.constantFrom("/a", "/c"), { nil: undefined }),
  parentSessionID: fc.option(fc.constantFrom("ses_parent", "ses_nobody"), { nil: undefined, freq: 2 }),
  batchId: fc.option(fc.constantFrom("one", "two"), { nil: undefined, freq: 2 }),
  search: fc.option(text(4), { nil: undefined }),
  offset: fc.oneof(fc.constant(0), fc.nat({ max: 40 })),
  limit: fc.nat({ max: 9 }),
});

/** Plays what is drawn, from task `first` on, and returns each task that is left as a plain summary. */
const play = (store: Store, drawn: readonly Drawn[], first = 0): TaskSummary[] =>
  drawn.flatMap(({ fate, ...given }, index) => {
    const born = first + index + 1;
    const story = scriptTask(`ses_${born}`, given);
    store.commit(story.launch());
    if (fate === "ended" || fate === "resumed") {
      for (const change of [story.answer(), story.deliver()]) store.commit(change);
    }
    if (fate === "resumed") {
      store.claim(story.id);
      store.commit(story.resume());
    }
    if (fate !== "removed") return [summaryOf(story.record(), born)];
    store.remove([story.id]);
    return [];
  });

const ids = (tasks: readonly { id: string }[]) => tasks.map(({ id }) => id);
const idsOf = (records: readonly { task: { sessionID: string } }[]) => records.map(({ task }) => task.sessionID);

/** What a plain look at each task finds. */
const expected = (tasks: readonly TaskSummary[], filter: PageFilter) => {
  const { found, total } = createTaskQuery(tasks).page(filter);
  return { ids: ids(found), total };
};

const pageOf = (store: Store, filter: PageFilter) => {
  const { records, total } = store.page(filter);
  return { ids: idsOf(records), total };
};

/** Ways to find a page, each of which is forced by what counts as few tasks. */
const WAYS = [
  { name: "as usual" },
  { name: "in the order of launch", few: 0 },
  { name: "in that order or by what is counted", few: 3 },
];

test.each(WAYS)("a page of SQL holds what a plain look at each task finds: $name", ({ few }) => {
  const run = (drawn: Drawn[], later: Drawn[], filters: PageFilter[]) => {
    const database = openDatabase(":memory:");
    ensureSchema(database);
    const store = createSqliteStore({ database, owner: ownerOf("me"), now: () => START });
    const page = createPageQuery(database, few);
    const check = (tasks: readonly TaskSummary[]) => {
      for (const filter of filters) {
        const { found, total } = page(filter);
        expect({ ids: ids(found), total }).toEqual(expected(tasks, filter));
      }
    };
    const tasks = play(store, drawn);
    check(tasks);
    const more = [...tasks, ...play(store, later, drawn.length)];
    check(more);
    const removed = more.filter((_, index) => index % 3 === 0);
    store.remove(ids(removed));
    check(more.filter((task) => !removed.includes(task)));
    database.close();
  };
  const several = fc.array(drawnTask, { maxLength: 14, size: "max" });
  const filters = fc.array(drawnFilter, { minLength: 6, maxLength: 6, size: "max" });
  fc.assert(fc.property(several, several, filters, run), { numRuns: 25 });
});

test("in an outage all questions are answered with what the file has and what it lacks", async () => {
  const run = async (stored: Drawn[], unsaved: Drawn[], ended: number, removed: number, filters: PageFilter[]) => {
    const { store, disk, path } = await openResilient();
    const stories = stored.map(({ fate: _, ...given }, index) => scriptTask(`ses_${index + 1}`, given));
    for (const story of stories) store.commit(story.launch());
    disk.failWrites("full");
    for (const story of stories.slice(0, ended))
      for (const step of [story.answer(), story.deliver()]) store.commit(step);
    const kept = Math.max(0, stories.length - removed);
    store.remove(stories.slice(kept).map(({ id }) => id));
    const left = stories.slice(0, kept);
    const all = [
      ...left.map((story, index) => summaryOf(story.record(), index + 1)),
      ...play(store, unsaved, stories.length),
    ];
    const query = createTaskQuery(all);
    for (const filter of filters) expect(pageOf(store, filter)).toEqual(expected(all, filter));
    const answers = (of: Store) => ({
      live: idsOf(of.live()),
      ended: [idsOf(of.newestEnded(4)), idsOf(of.newestEnded(3, 2))],
      batch: idsOf(of.batch("one")),
      ids: of.idsStartingWith("ses_1", 3),
      stats: of.stats(),
    });
    const inOutage = answers(store);
    expect(inOutage).toMatchObject({
      live: ids(query.live()),
      ended: [ids(query.newestEnded(4, 0)), ids(query.newestEnded(3, 2))],
      batch: ids(query.batch("one")),
      ids: query.idsStartingWith("ses_1", 3),
    });
    disk.heal();
    store.heartbeat(START);
    expect(answers(store)).toEqual(inOutage);
    expect(readFile(path, answers)).toEqual(inOutage);
    store.close();
  };
  const some = fc.array(drawnTask, { maxLength: 8, size: "max" });
  const filters = fc.array(drawnFilter, { minLength: 10, maxLength: 10, size: "max" });
  const few = fc.nat({ max: 4 });
  await fc.assert(fc.asyncProperty(some, some, few, few, filters, run), { numRuns: 20 });
});
