import { expect, test } from "vitest";
import { AT_WORK, createOpenings, QUIT_WITHIN } from "../../../src/services/recovery/reopened-directories.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";

const FOLDER = "/project";

/** A directory that was closed, and opened again `after` milliseconds later. */
const reopened = async (after = 0) => {
  const clock = createVirtualClock();
  const openings = createOpenings(clock);
  openings.open(FOLDER).close();
  await clock.advance(after);
  const opening = openings.open(FOLDER);
  const log: string[] = [];
  opening.onceSure(() => log.push("sure"));
  return { clock, openings, opening, log };
};

test("a directory that opens for the first time is sure at once", () => {
  const opening = createOpenings(createVirtualClock()).open(FOLDER);
  const log: string[] = [];
  opening.onceSure(() => log.push("sure"));
  expect(opening.isSure()).toBe(true);
  expect(log).toEqual(["sure"]);
});

test("one that was closed a moment ago is sure once a quit would have ended the process, and says so once", async () => {
  const { clock, opening, log } = await reopened(1_000);
  await clock.advance(QUIT_WITHIN - 1_001);
  expect(opening.isSure()).toBe(false);
  expect(log).toEqual([]);
  await clock.advance(1);
  expect(opening.isSure()).toBe(true);
  await clock.advance(QUIT_WITHIN);
  expect(log).toEqual(["sure"]);
});

test("one that was closed long ago is sure at once, and so is another directory", async () => {
  const { opening, openings, log } = await reopened(QUIT_WITHIN);
  expect(opening.isSure()).toBe(true);
  expect(log).toEqual(["sure"]);
  opening.close();
  expect(openings.open("/elsewhere").isSure()).toBe(true);
  expect(openings.open(FOLDER).isSure()).toBe(false);
});

test("a session that stays at work makes it sure, though it says many times that it is busy", async () => {
  const { clock, opening, log } = await reopened();
  for (let told = 0; told < 10; told += 1) {
    expect(opening.isSure()).toBe(false);
    opening.note({ type: "busy", sessionID: "ses_1" });
    await clock.advance(AT_WORK / 10);
  }
  expect(opening.isSure()).toBe(true);
  expect(log).toEqual(["sure"]);
});

test.each([
  ["idle", { type: "idle", sessionID: "ses_1" }],
  ["deleted", { type: "deleted", sessionID: "ses_1" }],
] as const)(
  "a session that is %s soon after it was busy shows nothing; another that stays at work does",
  async (_, end) => {
    const { clock, opening } = await reopened();
    opening.note({ type: "busy", sessionID: "ses_1" });
    await clock.advance(AT_WORK - 1);
    opening.note(end);
    await clock.advance(AT_WORK);
    expect(opening.isSure()).toBe(false);
    opening.note({ type: "busy", sessionID: "ses_2" });
    opening.note(end);
    await clock.advance(AT_WORK);
    expect(opening.isSure()).toBe(true);
  },
);

test("one that is closed in doubt says nothing more, and keeps no timer", async () => {
  const { clock, opening, log } = await reopened();
  opening.note({ type: "busy", sessionID: "ses_1" });
  opening.close();
  expect(clock.pending()).toBe(0);
  await clock.advance(2 * QUIT_WITHIN);
  expect(log).toEqual([]);
});
