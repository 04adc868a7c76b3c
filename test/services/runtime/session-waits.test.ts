import { expect, test } from "vitest";
import type { HostEvent } from "../../../src/machines/host-events.ts";
import { createLostSessions, createSessionWaits } from "../../../src/services/runtime/known-sessions.ts";
import { createVirtualClock, settled } from "../../fakes/virtual-clock.ts";

const setUp = () => {
  const clock = createVirtualClock(0);
  const waits = createSessionWaits(clock);
  const over: string[] = [];
  const wait = (sessionID: string, what: "idle" | "change", ms = 1_000) =>
    void waits.until(sessionID, what, ms).then(() => over.push(`${sessionID} ${what}`));
  const report = async (type: HostEvent["type"], sessionID = "ses_1") => {
    waits.onHostEvent({ type, sessionID } as HostEvent);
    await settled();
  };
  return { clock, waits, over, wait, report };
};

test("a session that becomes idle ends all waits for it, and none for another session", async () => {
  const { clock, over, wait, report } = setUp();
  for (const what of ["idle", "change"] as const) wait("ses_1", what);
  wait("ses_2", "idle");
  await report("busy");
  expect(over).toEqual([]);
  await report("idle");
  expect(over).toEqual(["ses_1 idle", "ses_1 change"]);
  expect(clock.pending()).toBe(1);
});

test("a session that changes otherwise ends the waits for a change alone", async () => {
  const { over, wait, report } = setUp();
  for (const what of ["idle", "change"] as const) wait("ses_1", what);
  await report("session");
  expect(over).toEqual(["ses_1 change"]);
  await report("idle");
  expect(over).toEqual(["ses_1 change", "ses_1 idle"]);
});

test("a wait ends when its time is over, and not before; another wait of its session goes on", async () => {
  const { clock, over, wait, report } = setUp();
  wait("ses_1", "idle", 500);
  wait("ses_1", "change", 1_000);
  await clock.advance(499);
  expect(over).toEqual([]);
  await clock.advance(1);
  expect(over).toEqual(["ses_1 idle"]);
  await report("session");
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

/** Sessions in which `ses_below` stands below `ses_lost`; each abort ends when the test ends it. */
const createLost = () => {
  const ends: PromiseWithResolvers<void>[] = [];
  const aborted: string[] = [];
  const asked: string[] = [];
  const sessions = createLostSessions(
    (sessionID) => {
      const end = Promise.withResolvers<void>();
      aborted.push(sessionID);
      ends.push(end);
      return end.promise;
    },
    (sessionID) => {
      asked.push(sessionID);
      return sessionID === "ses_below" ? [sessionID, "ses_lost"] : [sessionID];
    },
  );
  return { sessions, aborted, asked, end: (index: number) => ends[index]?.resolve() };
};

test("a session that is being stopped holds up itself and what is below it, and nothing else", async () => {
  const { sessions, aborted, end } = createLost();
  const stop = sessions.stop("ses_lost");
  expect(aborted).toEqual(["ses_lost"]);
  expect(sessions.untilStopped("ses_lost")).toBe(stop);
  expect(sessions.untilStopped("ses_below")).toBe(stop);
  expect(sessions.untilStopped("ses_other")).toBeUndefined();
  end(0);
  await stop;
  expect(sessions.untilStopped("ses_lost")).toBeUndefined();
});

test("where no session is being stopped, none above one is looked for", () => {
  const { sessions, asked } = createLost();
  expect(sessions.untilStopped("ses_below")).toBeUndefined();
  expect(asked).toEqual([]);
});

test("a session that is stopped again meanwhile is held up until that has ended, too", async () => {
  const { sessions, end } = createLost();
  const first = sessions.stop("ses_lost");
  const second = sessions.stop("ses_lost");
  end(0);
  await first;
  await settled();
  expect(sessions.untilStopped("ses_lost")).toBe(second);
  end(1);
  await second;
  expect(sessions.untilStopped("ses_lost")).toBeUndefined();
});

test("a session whose abort failed holds nothing up any more", async () => {
  const sessions = createLostSessions(
    async () => {
      throw new Error("no answer");
    },
    (sessionID) => [sessionID],
  );
  await expect(sessions.stop("ses_lost")).rejects.toThrow("no answer");
  expect(sessions.untilStopped("ses_lost")).toBeUndefined();
});
