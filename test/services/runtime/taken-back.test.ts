import { expect, test } from "vitest";
import { LOOK_BACKOFF } from "../../../src/machines/outbox/setup.ts";
import { createSessionWaits, untilNothingIsTakenBack } from "../../../src/services/runtime/known-sessions.ts";
import { createFakeHost, unavailable } from "../../fakes/fake-host.ts";
import { createVirtualClock, settled } from "../../fakes/virtual-clock.ts";

/** A session of which a person has taken something back, unless `isReverted` is false; it is observed unless told otherwise. */
const setUp = ({ isReverted = true, isAlone = true, isObserved = true } = {}) => {
  const clock = createVirtualClock(0);
  const host = createFakeHost(clock);
  host.addSession("ses_1");
  const waits = createSessionWaits(clock);
  const state = { isReverted, isWanted: true };
  const sessionOf = (id: string) => ({
    ...{ id, parentID: undefined, agent: "build", model: undefined, permission: [], title: "" },
    ...(state.isReverted ? { isReverted: true } : {}),
  });
  const sources = {
    reads: {
      session: async (id: string) => {
        const read = await host.session(id);
        return read.ok ? { ok: true as const, value: sessionOf(id) } : read;
      },
    },
    observedSessions: { sessionOf: (id: string) => (isObserved ? sessionOf(id) : undefined) },
    store: { isAlone: () => isAlone },
    sessionWaits: waits,
  };
  const wait = untilNothingIsTakenBack(sources, "ses_1", () => state.isWanted);
  let isOver = wait === undefined;
  void wait?.then(() => {
    isOver = true;
  });
  const change = async () => {
    waits.onHostEvent({ type: "session", sessionID: "ses_1", session: sessionOf("ses_1"), isNew: false });
    await settled();
  };
  return { clock, host, state, change, isImmediate: wait === undefined, isOver: () => isOver };
};

test("nothing stands in the way of a session whose events show that nothing is taken back", () => {
  const { isImmediate, host } = setUp({ isReverted: false });
  expect(isImmediate).toBe(true);
  expect(host.calls).toEqual([]);
});

test.each([{ isAlone: false }, { isObserved: false }])(
  "the host is asked of a session whose events may not show all: %o",
  async (how) => {
    const { isImmediate, isOver, host } = setUp({ isReverted: false, ...how });
    expect(isImmediate).toBe(false);
    await settled();
    expect([isOver(), host.calls]).toEqual([true, ["session"]]);
  },
);

test("what was taken back is waited for until an event says that it is there again", async () => {
  const { state, change, isOver } = setUp();
  await change();
  expect(isOver()).toBe(false);
  state.isReverted = false;
  await change();
  expect(isOver()).toBe(true);
});

test("without an event the host is asked again after pauses that double", async () => {
  const { clock, host, state, isOver } = setUp();
  await clock.advance(LOOK_BACKOFF.first);
  expect(host.calls).toHaveLength(2);
  await clock.advance(2 * LOOK_BACKOFF.first - 1);
  expect(host.calls).toHaveLength(2);
  state.isReverted = false;
  await clock.advance(1);
  expect([host.calls.length, isOver()]).toEqual([3, true]);
});

test("nothing is waited for that is not wanted any more, nor for a host that does not answer", async () => {
  const unwanted = setUp();
  await settled();
  unwanted.state.isWanted = false;
  await unwanted.change();
  expect([unwanted.isOver(), unwanted.host.calls.length]).toEqual([true, 1]);
  const silent = setUp();
  await settled();
  silent.host.failNext("session", unavailable);
  await silent.change();
  expect(silent.isOver()).toBe(true);
});
