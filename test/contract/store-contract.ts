import { describe, expect, test } from "vitest";
import type { Change, Store } from "../../src/services/store/store.ts";
import { entryOf, noProgress } from "../../src/task.ts";
import { noticePrompt, START, scriptTask } from "../services/store/scripted-task.ts";
import { wholeTasks } from "../services/store/whole-tasks.ts";
import { describeHistory } from "./history-contract.ts";

const DAY = 86_400_000;

let ended: Change[] | undefined;

/** 500 tasks that have ended: more than a store removes in one go. Their charts take a while, so all stores get the same. */
const manyEnded = (): Change => {
  ended ??= Array.from({ length: 500 }, (_, index) => scriptTask(`ses_more_${index}`).whole());
  return {
    records: ended.flatMap(({ records }) => records),
    journal: ended.flatMap(({ journal }) => journal),
    prompts: [],
  };
};

/**
 * Tests what the runtime and the engine rely on, for every kind of store. `open` creates a new, empty one. `writes` is
 * false for a store whose file cannot be written for now.
 */
export const describeStore = (open: () => Store | Promise<Store>, { writes = true } = {}): void => {
  test("a change that was stored is read back whole: record, task and journal", async () => {
    const store = await open();
    const story = scriptTask("ses_1");
    expect(store.commit(story.launch())).toEqual([]);
    expect(store.get("ses_1")).toEqual(story.record());
    expect(store.list({})).toEqual([entryOf(story.record().task)]);
    expect(store.journal("ses_1")).toEqual(story.events());
  });

  test("a later record takes the place of the earlier one, and the journal goes on", async () => {
    const store = await open();
    const story = scriptTask("ses_1");
    for (const chapter of [story.launch(), story.answer(), story.deliver()]) expect(store.commit(chapter)).toEqual([]);
    expect(store.claim("ses_1")).toBe(true);
    expect(store.commit(story.resume())).toEqual([]);
    expect(store.get("ses_1")).toEqual(story.record());
    expect(store.list({}).map(({ status }) => status)).toEqual(["resumed"]);
    expect(store.journal("ses_1")).toEqual(story.events());
  });

  test("what a task's chart began with is kept with it: its first run, also after a resume, and how it was launched", async () => {
    const store = await open();
    const story = scriptTask("ses_1");
    const launch = { input: {}, events: [{ type: "TURN_TAKEN" as const, at: START }] };
    store.commit({ ...story.launch(), launches: new Map([["ses_1", launch]]) });
    const { facts, run } = story.record().snapshot.context;
    for (const chapter of [story.answer(), story.deliver()]) store.commit(chapter);
    store.claim("ses_1");
    store.commit(story.resume());
    expect(store.origin("ses_1")).toEqual({ facts, run, launch });
    expect(store.origin("ses_2")).toBeUndefined();
  });

  test("one change may hold many tasks, and each has its own events", async () => {
    const store = await open();
    const stories = [scriptTask("ses_1"), scriptTask("ses_2")];
    const changes = stories.map((story) => story.launch());
    store.commit({
      records: changes.flatMap(({ records }) => records),
      journal: changes.flatMap(({ journal }) => journal).toReversed(),
      prompts: [{ parentSessionID: "ses_parent", prompts: [noticePrompt("msg_1")] }],
    });
    for (const story of stories) expect(store.journal(story.id)).toEqual(story.events().toReversed());
  });

  test("what nobody stored is not there", async () => {
    const store = await open();
    expect(store.get("ses_1")).toBeUndefined();
    expect(store.list({ parentSessionID: "ses_parent" })).toEqual([]);
    expect(store.journal("ses_1")).toEqual([]);
    expect(store.claim("ses_1")).toBe(false);
    expect(store.isOwnedElsewhere("ses_1")).toBe(false);
  });

  test("a list holds what fits all of its filter, in the order of launch", async () => {
    const store = await open();
    const stories = [
      scriptTask("ses_c", { after: 10 }),
      scriptTask("ses_a", { after: 20, batchId: "second" }),
      scriptTask("ses_b", { after: 20 }),
      scriptTask("ses_x", { after: 30, parentSessionID: "ses_else", parentTaskId: "ses_c" }),
    ];
    for (const story of stories) store.commit(story.launch());
    const ids = (filter: Parameters<Store["list"]>[0]) => store.list(filter).map(({ sessionID }) => sessionID);
    expect(ids({})).toEqual(["ses_c", "ses_a", "ses_b", "ses_x"]);
    expect(ids({ parentSessionID: "ses_parent" })).toEqual(["ses_c", "ses_a", "ses_b"]);
    expect(ids({ parentSessionID: "ses_parent", batchId: "second" })).toEqual(["ses_a"]);
    expect(ids({ parentSessionID: "ses_else", batchId: "second" })).toEqual([]);
    expect(ids({ parentTaskId: "ses_c" })).toEqual(["ses_x"]);
    expect(ids({ parentTaskId: "ses_c", parentSessionID: "ses_else" })).toEqual(["ses_x"]);
    expect(ids({ parentTaskId: "ses_c", parentSessionID: "ses_parent" })).toEqual([]);
    expect(ids({ parentTaskId: "ses_a" })).toEqual([]);
    expect(ids({ idPrefix: "ses_" })).toEqual(["ses_c", "ses_a", "ses_b", "ses_x"]);
    expect(ids({ idPrefix: "ses_a", parentSessionID: "ses_parent" })).toEqual(["ses_a"]);
    expect(ids({ idPrefix: "ses_x", parentSessionID: "ses_parent" })).toEqual([]);
    for (const idPrefix of ["es_", "SES_", "ses%", "ses?"]) expect(ids({ idPrefix })).toEqual([]);
    store.remove(["ses_x"]);
    expect(ids({ parentTaskId: "ses_c" })).toEqual([]);
  });

  test("tasks are counted by their parent session", async () => {
    const store = await open();
    const stories = [scriptTask("ses_1"), scriptTask("ses_2"), scriptTask("ses_3", { parentSessionID: "ses_else" })];
    for (const story of stories) store.commit(story.launch());
    store.commit(stories[0]?.answer() ?? { records: [], journal: [], prompts: [] });
    expect([store.countOf("ses_parent"), store.countOf("ses_else"), store.countOf("ses_none")]).toEqual([2, 1, 0]);
    store.remove(["ses_2"]);
    expect(store.countOf("ses_parent")).toBe(1);
  });

  test("a list says of each task what its record says, whatever became of it", async () => {
    const store = await open();
    const agree = () => expect(store.list({})).toEqual(wholeTasks(store).map(entryOf));
    const stories = [scriptTask("ses_1"), scriptTask("ses_2", { after: 5, isForked: true, agent: "review" })];
    for (const story of stories) {
      for (const chapter of ["launch", "answer", "deliver"] as const) {
        store.commit(story[chapter]());
        agree();
      }
    }
    store.claim("ses_2");
    store.commit(stories[1]?.resume() ?? { records: [], journal: [], prompts: [] });
    agree();
    expect(store.list({})).toMatchObject([
      { resumeCount: 0, isForked: false, runBeganAt: START, runEndedAt: START + 1_000 },
      { resumeCount: 1, isForked: true, launchedAt: START + 5, runBeganAt: START + 2_005, agent: "review" },
    ]);
  });

  test("a removed task is gone with its journal, be it at work or at rest, and the others stay", async () => {
    const store = await open();
    const stories = [scriptTask("ses_1"), scriptTask("ses_2"), scriptTask("ses_3")];
    for (const story of stories) store.commit(story.launch());
    store.commit(scriptTask("ses_4").whole());
    store.remove(["ses_1", "ses_4", "ses_unknown"]);
    for (const id of ["ses_1", "ses_4"]) {
      expect(store.get(id)).toBeUndefined();
      expect(store.journal(id)).toEqual([]);
    }
    expect(store.list({}).map(({ sessionID }) => sessionID)).toEqual(["ses_2", "ses_3"]);
  });

  test("progress is counted between changes, at work and at rest, and a change brings its own", async () => {
    const store = await open();
    const [story, rested] = [scriptTask("ses_1"), scriptTask("ses_2")];
    store.commit(story.launch());
    store.commit(rested.whole());
    const progress = { ...noProgress(new Date(START).toISOString()), toolCalls: 3 };
    store.storeProgress(new Map(["ses_1", "ses_2", "ses_unknown"].map((id) => [id, progress])));
    expect(wholeTasks(store).map((task) => task.progress.toolCalls)).toEqual([3, 3]);
    expect(store.get("ses_1")).toEqual({ ...story.record(), task: { ...story.record().task, progress } });
    store.commit(story.answer());
    expect(store.get("ses_1")?.task.progress.toolCalls).toBe(0);
  });

  test("what a task's own runs used is listed, and of those below others all are found, each once", async () => {
    const store = await open();
    const stories = [
      scriptTask("ses_top", { after: 0 }),
      scriptTask("ses_deep", { after: 30, parentSessionID: "ses_low", parentTaskId: "ses_low" }),
      scriptTask("ses_low", { after: 20, parentSessionID: "ses_top", parentTaskId: "ses_top" }),
      scriptTask("ses_side", { after: 10, parentSessionID: "ses_top", parentTaskId: "ses_top" }),
      scriptTask("ses_alone", { after: 5 }),
    ];
    expect(store.below(["ses_top"])).toEqual([]);
    for (const story of stories) store.commit(story.launch());
    const progress = { ...noProgress(new Date(START).toISOString()), tokens: 70, cost: 0.25 };
    store.storeProgress(new Map(["ses_low", "ses_alone"].map((id) => [id, progress])));
    const [used, unused] = [
      { tokens: 70, cost: 0.25 },
      { tokens: 0, cost: 0 },
    ];
    expect(store.list({ parentSessionID: "ses_parent" }).map(({ ownUsage }) => ownUsage)).toEqual([unused, used]);
    const all = [
      { sessionID: "ses_side", parentTaskId: "ses_top", launchedAt: START + 10, ownUsage: unused },
      { sessionID: "ses_low", parentTaskId: "ses_top", launchedAt: START + 20, ownUsage: used },
      { sessionID: "ses_deep", parentTaskId: "ses_low", launchedAt: START + 30, ownUsage: unused },
    ];
    expect(store.below(["ses_top"])).toEqual(all);
    expect(store.below(["ses_top", "ses_low", "ses_alone"])).toEqual(all);
    expect(store.below(["ses_low"])).toEqual(all.slice(2));
    for (const ids of [[], ["ses_deep", "ses_alone"], ["ses_unknown"]]) expect(store.below(ids)).toEqual([]);
    store.remove(["ses_deep"]);
    expect(store.below(["ses_top"])).toEqual(all.slice(0, 2));
  });

  test("a task at rest can be claimed, and be given back", async () => {
    const store = await open();
    const story = scriptTask("ses_1");
    store.commit(story.whole());
    for (let round = 0; round < 2; round += 1) {
      expect(store.claim("ses_1")).toBe(true);
      expect(store.isOwnedElsewhere("ses_1")).toBe(false);
      store.release("ses_1");
    }
    expect(store.get("ses_1")).toEqual(story.record());
  });

  test("alone, nothing is lost, and nothing is there to be taken over", async () => {
    const store = await open();
    store.commit(scriptTask("ses_1").launch());
    store.beginLaunch({ messageID: "msg_2", parentSessionID: "ses_parent", at: START, fork: true });
    expect(store.heartbeat(START)).toEqual([]);
    expect(store.adopt(START, () => true)).toEqual({ tasks: [], prompts: [], launches: [] });
    store.endLaunch("msg_2");
    expect(store.get("ses_1")).toBeDefined();
  });

  test("after its close nothing throws", async () => {
    const store = await open();
    const story = scriptTask("ses_1");
    store.commit(story.launch());
    store.close();
    store.close();
    store.commit(story.answer());
    store.storeProgress(new Map([["ses_1", noProgress("2026-01-01T00:00:00.000Z")]]));
    store.beginLaunch({ messageID: "msg_2", parentSessionID: "ses_parent", at: START, fork: false });
    store.endLaunch("msg_2");
    store.release("ses_1");
    store.heartbeat(START);
    store.adopt(START, () => true);
    store.sweep({ count: 0 }, START);
    store.claim("ses_1");
    store.isOwnedElsewhere("ses_1");
    store.get("ses_1");
    store.list({});
    store.journal("ses_1");
    store.origin("ses_1");
    store.launches();
    store.remove(["ses_1"]);
  });

  describeHistory(open, writes);

  if (!writes) return;
  describe("a sweep", () => {
    const filled = async () => {
      const store = await open();
      const untold = scriptTask("ses_untold");
      store.commit(untold.launch());
      store.commit(untold.answer());
      store.commit(scriptTask("ses_live").launch());
      for (const [index, id] of ["ses_1", "ses_2", "ses_3"].entries()) {
        store.commit(scriptTask(id, { after: index * DAY }).whole());
      }
      return { store, ids: () => store.list({}).map(({ sessionID }) => sessionID) };
    };

    test("without bounds keeps everything", async () => {
      const { store, ids } = await filled();
      expect(store.sweep({}, START + 1_000 * DAY)).toBe(0);
      expect(store.sweep({ days: undefined, count: undefined }, START + 1_000 * DAY)).toBe(0);
      expect(ids()).toHaveLength(5);
    });

    test("by days removes what ended earlier, and nothing that is not at rest", async () => {
      const { store, ids } = await filled();
      expect(store.sweep({ days: 1 }, START + 2 * DAY + 1_001)).toBe(2);
      expect(ids()).toEqual(["ses_untold", "ses_live", "ses_3"]);
      expect(store.journal("ses_1")).toEqual([]);
    });

    test("by count keeps the newest", async () => {
      const { store, ids } = await filled();
      expect(store.sweep({ count: 1 }, START)).toBe(2);
      expect(ids()).toEqual(["ses_untold", "ses_live", "ses_3"]);
    });

    test("by both removes what either would", async () => {
      const { store, ids } = await filled();
      expect(store.sweep({ days: 2, count: 1 }, START + 2 * DAY + 1_001)).toBe(2);
      expect(store.sweep({ days: 0, count: 3 }, START + 9 * DAY)).toBe(1);
      expect(ids()).toEqual(["ses_untold", "ses_live"]);
    });

    test("done until nothing is left to be removed removes any number", async () => {
      const { store } = await filled();
      store.commit(manyEnded());
      let removed = 0;
      for (let some = -1; some !== 0; removed += some) some = store.sweep({ count: 0 }, START);
      expect(removed).toBe(503);
      expect(store.list({})).toHaveLength(2);
    });
  });
};
