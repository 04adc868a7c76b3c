import { expect, test } from "vitest";
import type { HostEvent } from "../../../src/machines/host-events.ts";
import { createSessionWaits } from "../../../src/services/runtime/session-waits.ts";
import { createVirtualClock, settled } from "../../fakes/virtual-clock.ts";

const setUp = () => {
  const clock = createVirtualClock(0);
  const waits = createSessionWaits(clock);
  const over: string[] = [];
  const wait = (sessionID: string, what: "idle" | "change", ms = 1_000) =>
    void waits.until(sessionID, what, ms).then(() => over.push(`${sessionID} ${what}`));
  const tell = async (type: HostEvent["type"], sessionID = "ses_1") => {
    waits.onHostEvent({ type, sessionID } as HostEvent);
    await settled();
  };
  return { clock, waits, over, wait, tell };
};

test("a session that becomes idle ends all waits for it, and none for another session", async () => {
  const { clock, over, wait, tell } = setUp();
  for (const what of ["idle", "change"] as const) wait("ses_1", what);
  wait("ses_2", "idle");
  await tell("busy");
  expect(over).toEqual([]);
  await tell("idle");
  expect(over).toEqual(["ses_1 idle", "ses_1 change"]);
  expect(clock.pending()).toBe(1);
});

test("a session that changes otherwise ends the waits for a change alone", async () => {
  const { over, wait, tell } = setUp();
  for (const what of ["idle", "change"] as const) wait("ses_1", what);
  await tell("session");
  expect(over).toEqual(["ses_1 change"]);
  await tell("idle");
  expect(over).toEqual(["ses_1 change", "ses_1 idle"]);
});

test("a wait ends when its time is over, and not before; another wait of its session goes on", async () => {
  const { clock, over, wait, tell } = setUp();
  wait("ses_1", "idle", 500);
  wait("ses_1", "change", 1_000);
  await clock.advance(499);
  expect(over).toEqual([]);
  await clock.advance(1);
  expect(over).toEqual(["ses_1 idle"]);
  await tell("session");
  expect(over).toEqual(["ses_1 idle", "ses_1 change"]);
});

test("all waits end when the process stops, and leave no timer behind", async () => {
  const { clock, waits, over, wait } = setUp();
  wait("ses_1", "idle");
  wait("ses_1", "change");
  wait("ses_2", "change");
  waits.stop();
  await settled();
  expect(over).toHaveLength(3);
  expect(clock.pending()).toBe(0);
});
