import { expect, test } from "vitest";
import type { Store } from "../../../src/services/store/store.ts";
import { scriptTask } from "./scripted-task.ts";
import { createSharedDatabase } from "./shared-database.ts";

const launch = (store: Store, id: string) => {
  const story = scriptTask(id);
  store.commit(story.launch());
  return story;
};

/** Launches, answers and delivers the task: nobody supervises it any more. */
const launchToRest = (store: Store, id: string) => {
  const story = launch(store, id);
  store.commit(story.answer("12"));
  store.commit(story.deliver());
};

test("a task is attended while a living process supervises it, or has its directory open", () => {
  const file = createSharedDatabase();
  const [shop, other] = [file.openAs("shop", { directory: "/shop" }), file.openAs("other", { directory: "/other" })];
  launch(shop.store, "ses_live");
  launchToRest(shop.store, "ses_rest");
  const attended = () => ["ses_live", "ses_rest"].map((id) => other.store.isAttended(id));
  expect(attended()).toEqual([true, true]);
  shop.kill();
  expect(attended()).toEqual([false, false]);
  const successor = file.openAs("successor", { directory: "/shop" });
  expect(attended()).toEqual([true, true]);
  successor.store.close();
  expect(attended()).toEqual([false, false]);
  // A task that does not exist counts as attended: the caller finds out by itself that it does not exist.
  expect(other.store.isAttended("ses_none")).toBe(true);
});

test("ids are found by how they begin, and ended tasks a part at a time", () => {
  const { store } = createSharedDatabase().openAs("one");
  for (const id of ["ses_b", "ses_a2", "ses_a1", "ses_A", "ses_a%"]) launchToRest(store, id);
  expect(store.idsStartingWith("ses_a", 10)).toEqual(["ses_a%", "ses_a1", "ses_a2"]);
  expect(store.idsStartingWith("ses_a", 2)).toEqual(["ses_a%", "ses_a1"]);
  expect(store.idsStartingWith("ses_b", 10)).toEqual(["ses_b"]);
  expect(store.idsStartingWith("ses_bb", 10)).toEqual([]);
  const ids = (count: number, skip?: number) => store.newestEnded(count, skip).map(({ task }) => task.sessionID);
  const all = ids(10);
  expect(all).toHaveLength(5);
  expect([...ids(2), ...ids(2, 2), ...ids(2, 4)]).toEqual(all);
  expect(ids(2, 5)).toEqual([]);
});
