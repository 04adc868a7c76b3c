import { expect, test } from "vitest";
import { AT_WORK_MS, createDirectoryOpenings, QUIT_TIMEOUT_MS } from "../../../../src/services/host/directories.ts";
import { createVirtualClock } from "../../../fakes/virtual-clock.ts";

const FOLDER = "/project";

/** A directory that was closed, and opened again `after` milliseconds later. */
const reopened = async (after = 0) => {
  const clock = createVirtualClock();
  const openings = createDirectoryOpenings(clock);
  openings.open(FOLDER).close();
  await clock.advance(after);
  const opening = openings.open(FOLDER);
  const log: string[] = [];
  opening.whenProcessStays(() => log.push("sure"));
  return { clock, openings, opening, log };
};

test("a directory that opens for the first time is sure at once", () => {
  const opening = createDirectoryOpenings(createVirtualClock()).open(FOLDER);
  const log: string[] = [];
  opening.whenProcessStays(() => log.push("sure"));
  expect(opening.isProcessStaying()).toBe(true);
  expect(log).toEqual(["sure"]);
});

test("one that was closed a moment ago is sure once a quit would have ended the process, and says so once", async () => {
  const { clock, opening, log } = await reopened(1_000);
  await clock.advance(QUIT_TIMEOUT_MS - 1_001);
  expect(opening.isProcessStaying()).toBe(false);
  expect(log).toEqual([]);
  await clock.advance(1);
  expect(opening.isProcessStaying()).toBe(true);
  await clock.advance(QUIT_TIMEOUT_MS);
  expect(log).toEqual(["sure"]);
});

test("one that was closed long ago is sure at once, and so is another directory", async () => {
  const { opening, openings, log } = await reopened(QUIT_TIMEOUT_MS);
  expect(opening.isProcessStaying()).toBe(true);
  expect(log).toEqual(["sure"]);
  opening.close();
  expect(openings.open("/elsewhere").isProcessStaying()).toBe(true);
  expect(openings.open(FOLDER).isProcessStaying()).toBe(false);
});

test("a session that stays at work makes it sure, though it says many times that it is busy", async () => {
  const { clock, opening, log } = await reopened();
  for (let told = 0; told < 10; told += 1) {
    expect(opening.isProcessStaying()).toBe(false);
    opening.onHostEvent({ type: "busy", sessionID: "ses_1" });
    await clock.advance(AT_WORK_MS / 10);
  }
  expect(opening.isProcessStaying()).toBe(true);
  expect(log).toEqual(["sure"]);
});

test.each([
  ["idle", { type: "idle", sessionID: "ses_1" }],
  ["deleted", { type: "deleted", sessionID: "ses_1" }],
] as const)(
  "a session that is %s soon after it was busy shows nothing; another that stays at work does",
  async (_, end) => {
    const { clock, opening } = await reopened();
    opening.onHostEvent({ type: "busy", sessionID: "ses_1" });
    await clock.advance(AT_WORK_MS - 1);
    opening.onHostEvent(end);
    await clock.advance(AT_WORK_MS);
    expect(opening.isProcessStaying()).toBe(false);
    opening.onHostEvent({ type: "busy", sessionID: "ses_2" });
    opening.onHostEvent(end);
    await clock.advance(AT_WORK_MS);
    expect(opening.isProcessStaying()).toBe(true);
  },
);

test("one that is closed in doubt says nothing more, and keeps no timer", async () => {
  const { clock, opening, log } = await reopened();
  opening.onHostEvent({ type: "busy", sessionID: "ses_1" });
  opening.close();
  expect(clock.pending()).toBe(0);
  await clock.advance(2 * QUIT_TIMEOUT_MS);
  expect(log).toEqual([]);
});
