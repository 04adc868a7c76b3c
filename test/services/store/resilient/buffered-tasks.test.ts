import { expect, test, vi } from "vitest";
import { createBufferedTasks } from "../../../../src/services/store/resilient/buffered-tasks.ts";
import { scriptTask } from "../scripted-task.ts";

/** Counts the entries of all maps that are walked through while the work is done. */
const walkedThrough = (work: () => void): number => {
  let entries = 0;
  const spies = (["values", "entries", Symbol.iterator] as const).map((name) => {
    const walk = Map.prototype[name];
    return vi.spyOn(Map.prototype, name).mockImplementation(function (this: Map<unknown, unknown>) {
      entries += this.size;
      return walk.call(this);
    });
  });
  try {
    work();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return entries;
};

/** What the store does for each change. */
const saved = (live: number): number => {
  const tasks = createBufferedTasks();
  for (let index = 0; index < live; index += 1) tasks.commit(scriptTask(`ses_live_${index}`).launch());
  tasks.markSaved();
  const change = scriptTask("ses_1").launch();
  return walkedThrough(() => {
    tasks.commit(change);
    expect(tasks.isSaved()).toBe(false);
    expect(tasks.unsaved().records.map(({ task }) => task.sessionID)).toEqual(["ses_1"]);
    expect(tasks.list({}, "unsaved").map(({ sessionID }) => sessionID)).toEqual(["ses_1"]);
    tasks.markSaved();
    expect(tasks.isSaved()).toBe(true);
  });
};

test("to save a change is the same work however many tasks live", () => {
  expect(saved(1)).toBeGreaterThan(0);
  expect(saved(100)).toBe(saved(1));
});

test("a saved task stays until it is at rest, and everything that stayed is unsaved once the file is lost", () => {
  const tasks = createBufferedTasks();
  const [live, ended] = [scriptTask("ses_live"), scriptTask("ses_ended")];
  tasks.commit(live.launch());
  tasks.commit(ended.whole());
  tasks.markSaved();
  expect(tasks.get("ses_live", "any")).toBeDefined();
  expect(tasks.get("ses_live", "unsaved")).toBeUndefined();
  expect(tasks.get("ses_ended", "any")).toBeUndefined();
  tasks.startOver();
  const { records, journal } = tasks.unsaved();
  expect(records.map(({ task }) => task.sessionID)).toEqual(["ses_live"]);
  expect(journal.map(({ taskId }) => taskId)).toContain("ses_live");
});

test("a task that was removed is not saved any more", () => {
  const tasks = createBufferedTasks();
  tasks.commit(scriptTask("ses_1").launch());
  tasks.remove("ses_1");
  expect(tasks.isSaved()).toBe(true);
  expect(tasks.unsaved()).toMatchObject({ records: [], journal: [] });
});
