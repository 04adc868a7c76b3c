import { expect, test } from "vitest";
import type { PageFilter, Store } from "../../src/services/store/store.ts";
import { noProgress, type TaskStatus } from "../../src/task.ts";
import { START, scriptTask } from "../services/store/scripted-task.ts";

const NO_USAGE = { tokens: 0, cost: 0 };
const NO_WAKES = { wakes: 0, cachedTokens: 0, ...NO_USAGE };
const NONE: Record<TaskStatus, number> = { running: 0, completed: 0, error: 0, cancelled: 0, resumed: 0 };

const idsOf = (records: { task: { sessionID: string } }[]) => records.map(({ task }) => task.sessionID);

/** Tests what the status API relies on. `writes` is false for a store whose file cannot be written for now. */
export const describeHistory = (open: () => Store | Promise<Store>, writes: boolean): void => {
  const finder = (store: Store) => (filter: Partial<PageFilter>) => {
    const { records, total } = store.page({ limit: 50, offset: 0, ...filter });
    return { ids: idsOf(records), total };
  };

  test("a page shows all tasks, newest first, later ones first among equals", async () => {
    const store = await open();
    for (const [id, after] of [
      ["ses_c", 20],
      ["ses_a", 10],
      ["ses_b", 20],
      ["ses_d", 0],
    ] as const) {
      store.commit(scriptTask(id, { after, parentSessionID: `ses_parent_of_${id}` }).launch());
    }
    expect(finder(store)({})).toEqual({ ids: ["ses_b", "ses_c", "ses_a", "ses_d"], total: 4 });
    expect(finder(store)({ limit: 2, offset: 1 })).toEqual({ ids: ["ses_c", "ses_a"], total: 4 });
    expect(finder(store)({ limit: 2, offset: 3 })).toEqual({ ids: ["ses_d"], total: 4 });
    expect(finder(store)({ offset: 4 })).toEqual({ ids: [], total: 4 });
    expect(finder(store)({ limit: 0 })).toEqual({ ids: [], total: 4 });
  });

  test("what a page shows is the whole record, as it stands", async () => {
    const store = await open();
    const [live, rested] = [scriptTask("ses_1"), scriptTask("ses_2", { after: 1 })];
    store.commit(live.launch());
    store.commit(rested.whole());
    const progress = { ...noProgress(new Date(START).toISOString()), toolCalls: 3 };
    store.storeProgress(new Map([["ses_1", progress]]));
    const counting = { ...live.record(), task: { ...live.record().task, progress } };
    expect(store.page({ limit: 9, offset: 0 }).records).toEqual([rested.record(), counting]);
    expect(store.live()).toEqual([counting]);
    expect(store.newestEnded(9)).toEqual([rested.record()]);
    expect(store.batch("batch")).toEqual([counting, rested.record()]);
  });

  test("a page holds what fits all of its filter", async () => {
    const store = await open();
    const stories = [
      scriptTask("ses_1"),
      scriptTask("ses_2", { after: 1, agent: "explore" }),
      scriptTask("ses_3", { after: 2, directory: "/other" }),
      scriptTask("ses_4", { after: 3, batchId: "other", description: "look it up" }),
      scriptTask("ses_5", { after: 4, agent: "explore", directory: "/other", batchId: "other" }),
    ];
    for (const story of stories) store.commit(story.launch());
    for (const story of stories.slice(3)) store.commit(story.answer());
    const find = finder(store);
    expect(find({ status: "running" }).ids).toEqual(["ses_3", "ses_2", "ses_1"]);
    expect(find({ status: "completed", limit: 1 })).toEqual({ ids: ["ses_5"], total: 2 });
    expect(find({ status: "cancelled" })).toEqual({ ids: [], total: 0 });
    expect(find({ agent: "explore" }).ids).toEqual(["ses_5", "ses_2"]);
    expect(find({ directory: "/other" }).ids).toEqual(["ses_5", "ses_3"]);
    expect(find({ batchId: "other" }).ids).toEqual(["ses_5", "ses_4"]);
    expect(find({ batchId: "other", status: "completed", search: "look" }).ids).toEqual(["ses_4"]);
    expect(find({ agent: "explore", directory: "/other", batchId: "other", status: "running" }).total).toBe(0);
    expect(find({ agent: "Explore" }).total).toBe(0);
    expect(find({ status: undefined, agent: undefined, search: "" }).total).toBe(5);
  });

  test("a search finds a part of the description, in whatever case, and knows no special signs", async () => {
    const store = await open();
    const texts = ["Fix the Übersicht", "100% of a_b", "100 of axb", "a\\b 'c' \"d\"", "CAFE\u0301 *?[a]"];
    texts.forEach(
      (description, after) => void store.commit(scriptTask(`ses_${after}`, { after, description }).launch()),
    );
    const found: Record<string, number[]> = {
      THE: [0],
      ÜBER: [0],
      über: [0],
      uber: [],
      "%": [1],
      _: [1],
      a_b: [1],
      "\\": [3],
      "a\\B": [3],
      "'": [3],
      '"d"': [3],
      "caf\u00e9": [4],
      "*": [4],
      "[A]": [4],
      OF: [2, 1],
      axb: [2],
      "the  ": [],
      "find it nowhere": [],
    };
    for (const [search, ids] of Object.entries(found)) {
      expect([search, finder(store)({ search })]).toEqual([
        search,
        { ids: ids.map((id) => `ses_${id}`), total: ids.length },
      ]);
    }
  });

  test("tallies count every task by status and agent, and the newest runs of those that ended", async () => {
    const store = await open();
    const nothing = {
      total: 0,
      byStatus: NONE,
      byAgent: {},
      duration: { avg: 0, max: 0, min: 0 },
      usage: NO_USAGE,
      wakeCosts: NO_WAKES,
    };
    expect(store.stats()).toEqual(nothing);
    const stories = [
      scriptTask("ses_1"),
      scriptTask("ses_2", { agent: "explore" }),
      scriptTask("ses_3", { agent: "constructor" }),
    ];
    for (const story of stories) store.commit(story.launch());
    expect(store.stats()).toEqual({
      ...nothing,
      total: 3,
      byStatus: { ...NONE, running: 3 },
      byAgent: { general: 1, explore: 1, constructor: 1 },
    });
    for (const story of stories.slice(0, 2)) store.commit(story.answer());
    expect(store.stats()).toMatchObject({
      byStatus: { ...NONE, running: 1, completed: 2 },
      duration: { avg: 1_000, max: 1_000, min: 1_000 },
    });
    for (const story of stories.slice(0, 2)) store.commit(story.deliver());
    expect(store.claim("ses_1")).toBe(true);
    store.commit(stories[0]?.resume() ?? { records: [], journal: [], prompts: [] });
    expect(store.stats().byStatus).toEqual({ ...NONE, running: 1, completed: 1, resumed: 1 });
    store.remove(["ses_2"]);
    expect(store.stats()).toEqual({
      ...nothing,
      total: 2,
      byStatus: { ...NONE, running: 1, resumed: 1 },
      byAgent: { general: 1, constructor: 1 },
    });
  });

  test("tallies add up what all tasks used, whatever becomes of them", async () => {
    const store = await open();
    const stories = [scriptTask("ses_1"), scriptTask("ses_2", { agent: "explore" }), scriptTask("ses_3")];
    for (const story of stories) store.commit(story.launch());
    const used = (tokens: number, cost: number) => ({ ...noProgress(new Date(START).toISOString()), tokens, cost });
    store.storeProgress(
      new Map([
        ["ses_1", used(10, 0.1)],
        ["ses_2", used(20, 0.2)],
        ["ses_unknown", used(40, 0.4)],
      ]),
    );
    expect(store.stats().usage).toEqual({ tokens: 30, cost: 0.3 });
    store.storeProgress(new Map([["ses_1", used(15, 0.7)]]));
    expect(store.stats().usage).toEqual({ tokens: 35, cost: 0.9 });
    const answer = stories[1]?.answer() ?? { records: [], journal: [], prompts: [] };
    const records = answer.records.map((record) => ({ ...record, task: { ...record.task, progress: used(25, 0.25) } }));
    store.commit({ ...answer, records });
    expect(store.stats().usage).toEqual({ tokens: 40, cost: 0.95 });
    store.remove(["ses_1"]);
    expect(store.stats().usage).toEqual({ tokens: 25, cost: 0.25 });
    store.remove(["ses_2", "ses_3"]);
    expect(store.stats().usage).toEqual(NO_USAGE);
  });

  test("tallies add up what it cost to wake agents, whatever becomes of the tasks", async () => {
    const store = await open();
    const stories = [scriptTask("ses_1"), scriptTask("ses_2", { agent: "explore" }), scriptTask("ses_3")];
    for (const story of stories) store.commit(story.whole());
    const wake = (wakes: number, tokens: number, cachedTokens: number, cost: number) => ({
      ...noProgress(new Date(START).toISOString()),
      wakeCosts: { wakes, tokens, cachedTokens, cost },
    });
    expect(store.stats().wakeCosts).toEqual(NO_WAKES);
    store.storeProgress(
      new Map([
        ["ses_1", wake(1, 10, 4, 0.1)],
        ["ses_2", wake(0, 20, 8, 0.2)],
      ]),
    );
    expect(store.stats().wakeCosts).toEqual({ wakes: 1, tokens: 30, cachedTokens: 12, cost: 0.3 });
    expect(store.get("ses_2")?.task.progress.wakeCosts).toEqual({ wakes: 0, tokens: 20, cachedTokens: 8, cost: 0.2 });
    store.storeProgress(new Map([["ses_1", wake(2, 30, 14, 0.4)]]));
    const resumed = stories[0]?.resume() ?? { records: [], journal: [], prompts: [] };
    const records = resumed.records.map((record) => ({
      ...record,
      task: { ...record.task, progress: wake(2, 30, 14, 0.4) },
    }));
    store.commit({ ...resumed, records });
    expect(store.stats().wakeCosts).toEqual({ wakes: 2, tokens: 50, cachedTokens: 22, cost: 0.6 });
    store.remove(["ses_1"]);
    expect(store.stats().wakeCosts).toEqual({ wakes: 0, tokens: 20, cachedTokens: 8, cost: 0.2 });
    store.remove(["ses_2", "ses_3"]);
    expect(store.stats().wakeCosts).toEqual(NO_WAKES);
  });

  test("a batch is shown in the order of launch, live tasks too, and ended ones by their end, newest first", async () => {
    const store = await open();
    const stories = [
      scriptTask("ses_3", { after: 3 }),
      scriptTask("ses_1", { after: 1 }),
      scriptTask("ses_2", { after: 2 }),
    ];
    for (const story of stories) store.commit(story.launch());
    store.commit(scriptTask("ses_other", { batchId: "other" }).launch());
    expect(idsOf(store.batch("batch"))).toEqual(["ses_1", "ses_2", "ses_3"]);
    expect(store.batch("unknown")).toEqual([]);
    expect(idsOf(store.live())).toEqual(["ses_other", "ses_1", "ses_2", "ses_3"]);
    expect(store.newestEnded(9)).toEqual([]);
    for (const story of stories) store.commit(story.answer());
    expect(idsOf(store.live())).toEqual(["ses_other"]);
    expect(idsOf(store.newestEnded(9))).toEqual(["ses_3", "ses_2", "ses_1"]);
    expect(idsOf(store.newestEnded(2))).toEqual(["ses_3", "ses_2"]);
    store.remove(["ses_3", "ses_other"]);
    expect([idsOf(store.live()), idsOf(store.newestEnded(9))]).toEqual([[], ["ses_2", "ses_1"]]);
    expect(finder(store)({})).toEqual({ ids: ["ses_2", "ses_1"], total: 2 });
  });

  test("changes have rising numbers; whoever reads on from one misses none, and sees each task once", async () => {
    const store = await open();
    expect(store.latestChange()).toBe(0);
    const [a, b] = [scriptTask("ses_a"), scriptTask("ses_b")];
    store.commit(a.launch());
    const first = store.latestChange();
    expect(first).toBeGreaterThan(0);
    expect(store.changedSince(0, 9)).toEqual([{ change: first, createdChange: first, record: a.record() }]);
    expect(store.changedSince(first, 9)).toEqual([]);
    store.commit(b.launch());
    store.commit(a.answer());
    const since = store.changedSince(first, 9);
    expect(since.map(({ record }) => record)).toEqual([b.record(), a.record()]);
    expect(since.map(({ createdChange: born }) => born > first)).toEqual([true, false]);
    expect(since.at(-1)?.change).toBe(store.latestChange());
    expect(store.changedSince(first, 1)).toEqual(since.slice(0, 1));
    expect(store.changedSince(since[0]?.change ?? 0, 1)).toEqual(since.slice(1));
    const last = store.latestChange();
    store.storeProgress(
      new Map([
        ["ses_b", noProgress(new Date(START).toISOString())],
        ["ses_unknown", noProgress("")],
      ]),
    );
    const [counted, ...more] = store.changedSince(last, 9);
    expect([counted?.createdChange, counted?.record, more]).toEqual([since[0]?.createdChange, b.record(), []]);
    expect(store.latestChange()).toBeGreaterThanOrEqual(counted?.change ?? Number.POSITIVE_INFINITY);
    store.remove(["ses_b"]);
    expect(store.changedSince(last, 9)).toEqual([]);
    expect(store.latestChange()).toBeGreaterThan(last);
    store.commit(scriptTask("ses_c").launch());
    expect(store.changedSince(last, 9).map(({ record }) => record.task.sessionID)).toEqual(["ses_c"]);
  });

  test("a request is given out once, and so is its answer", async () => {
    const store = await open();
    store.commit(scriptTask("ses_1").launch());
    expect([store.takeCommands(), store.takeOutcome("req_1")]).toEqual([[], undefined]);
    const asked = [
      { id: "req_1", taskId: "ses_1", command: { kind: "cancel" as const } },
      { id: "req_2", taskId: "ses_1", command: { kind: "resume" as const, prompt: "and %this" } },
    ];
    for (const one of asked) store.submitCommand(one, Date.now());
    expect(store.takeCommands()).toEqual(asked);
    expect(store.takeCommands()).toEqual([]);
    expect(store.takeOutcome("req_1")).toBeUndefined();
    store.storeOutcome("req_1", {});
    store.storeOutcome("req_2", { refused: "it is asleep" });
    store.storeOutcome("req_unknown", {});
    expect([store.takeOutcome("req_2"), store.takeOutcome("req_2")]).toEqual([{ refused: "it is asleep" }, undefined]);
    expect([store.takeOutcome("req_1"), store.takeOutcome("req_1")]).toEqual([{}, undefined]);
    expect(store.takeOutcome("req_unknown")).toBeUndefined();
  });

  test.runIf(writes)(
    "a request for a task at rest is given out, and one for a task that is gone is refused",
    async () => {
      const store = await open();
      store.commit(scriptTask("ses_1").whole());
      store.submitCommand({ id: "req_1", taskId: "ses_1", command: { kind: "cancel" } }, Date.now());
      store.submitCommand({ id: "req_2", taskId: "ses_gone", command: { kind: "cancel" } }, Date.now());
      expect(store.takeCommands().map(({ id }) => id)).toEqual(["req_1"]);
      expect(store.takeOutcome("req_2")).toEqual({ refused: "task ses_gone is not there any more" });
    },
  );

  test("after its close no question throws", async () => {
    const store = await open();
    store.commit(scriptTask("ses_1").launch());
    store.close();
    store.page({ limit: 50, offset: 0, search: "find" });
    store.stats();
    store.batch("batch");
    store.live();
    store.newestEnded(9);
    store.latestChange();
    store.changedSince(0, 9);
    store.submitCommand({ id: "req_1", taskId: "ses_1", command: { kind: "cancel" } }, START);
    store.takeCommands();
    store.storeOutcome("req_1", {});
    store.takeOutcome("req_1");
  });
};
