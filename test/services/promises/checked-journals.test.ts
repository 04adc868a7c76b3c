import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { newHome, removeHome, taskDatabase } from "../../e2e/lab/home.ts";
import { scriptTask } from "../store/scripted-task.ts";
import { createSharedDatabase } from "../store/shared-database.ts";

/** A home of OpenCode with a task in it that is answered and delivered. */
const withTask = async () => {
  const home = await newHome();
  mkdirSync(dirname(taskDatabase(home)), { recursive: true });
  const { store } = createSharedDatabase(taskDatabase(home)).openAs("OpenCode");
  const story = scriptTask("ses_counting");
  store.commit(story.whole());
  return { home, store, story };
};

test("a home of a test of the real OpenCode is removed when all its journals keep what is promised", async () => {
  const { home } = await withTask();
  await removeHome(home);
  expect(existsSync(home)).toBe(false);
});

test("the test fails where a journal of its home breaks a promise, and the home is removed all the same", async () => {
  const { home, store, story } = await withTask();
  const event = { type: "NOTICE_ACKNOWLEDGED" as const, at: Date.UTC(2026, 0, 2) };
  store.commit({ records: [story.record()], journal: [{ taskId: story.id, event }], prompts: [] });
  await expect(removeHome(home)).rejects.toThrow(
    /the journal of ses_counting breaks delivered-once: event 7 is a notice of an end that event 6 /,
  );
  expect(existsSync(home)).toBe(false);
});
