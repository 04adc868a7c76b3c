import { expect, test } from "vitest";
import type { HostEvent } from "../../../src/machines/host-events.ts";
import { TASK_LIMITS } from "../../../src/machines/task/setup.ts";
import { createLostSessions, createSessionWaits, stopWhile } from "../../../src/services/runtime/known-sessions.ts";
import { createFakeHost } from "../../fakes/fake-host.ts";
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

test("a wait that is over is forgotten: what comes later does not end it again", async () => {
  const clock = createVirtualClock(0);
  let callsOff = 0;
  const counting = {
    ...clock,
    after: (ms: number, fire: () => void) => {
      const callOff = clock.after(ms, fire);
      return () => {
        callsOff += 1;
        callOff();
      };
    },
  };
  const waits = createSessionWaits(counting);
  void waits.until("ses_1", "idle", 1_000);
  for (let time = 0; time < 3; time += 1) waits.onHostEvent({ type: "idle", sessionID: "ses_1" });
  waits.stop();
  expect(callsOff).toBe(1);
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

/** A session whose task was lost, unless told otherwise, and whose work is being stopped. */
const stopping = (isLost = true) => {
  const clock = createVirtualClock(0);
  const host = createFakeHost(clock);
  host.addSession("ses_1");
  const state = { isLost, isOver: false };
  void stopWhile(host, clock, "ses_1", () => state.isLost).then(() => {
    state.isOver = true;
  });
  return { clock, host, state };
};

test("what a prompt begins in a session that was lost is stopped again and again, for it begins a moment later", async () => {
  const { clock, host, state } = stopping();
  await settled();
  expect(host.calls).toEqual(["abort"]);
  await clock.advance(TASK_LIMITS.stopAgainAfter - 1);
  expect(host.calls).toHaveLength(1);
  await clock.advance(1);
  expect([host.calls.length, state.isOver]).toEqual([2, false]);
});

test("it is not stopped for ever", async () => {
  const { clock, host, state } = stopping();
  await clock.advance(TASK_LIMITS.stopAttempts * TASK_LIMITS.stopAgainAfter);
  expect([host.calls.length, state.isOver]).toEqual([TASK_LIMITS.stopAttempts, true]);
  expect(clock.pending()).toBe(0);
});

test("a session that this process has, or has again, is left at work", async () => {
  const ours = stopping(false);
  const again = stopping();
  await settled();
  again.state.isLost = false;
  await again.clock.advance(TASK_LIMITS.stopAgainAfter);
  expect([ours, again].map(({ host, state }) => [host.calls.length, state.isOver])).toEqual([
    [0, true],
    [1, true],
  ]);
});
