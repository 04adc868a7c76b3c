import { expect, test } from "vitest";
import type { HostEvent } from "../../../src/machines/host-events.ts";
import { createIds } from "../../../src/services/platform/ids.ts";
import { createDescendantWork } from "../../../src/services/runtime/observed-runs.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";

/** Milliseconds that the host may take to begin a subagent, or to give its result to its caller. */
const PATIENCE = 10_000;
const TASK = "ses_task";
const SUBAGENT = "ses_sub";

/** A record of what is below a task: `ses_sub`, and `ses_deep` below that. `ses_other` is below another task. */
const setUp = () => {
  const clock = createVirtualClock();
  const below = createDescendantWork(clock, (id) =>
    id === "ses_other" ? "ses_task2" : id === TASK ? undefined : TASK,
  );
  const hear = (type: "busy" | "idle" | "deleted" | "retrying", sessionID = SUBAGENT) =>
    below.onHostEvent({ type, sessionID } as HostEvent);
  const begin = (callerID = TASK, sessionID = SUBAGENT) =>
    below.onHostEvent({
      ...{ type: "toolCall", sessionID: callerID, callID: "call_1", tool: "task", stage: "stored" },
      effect: { kind: "background", sessionID },
    });
  const write = (sessionID = TASK, id = "msg_1", role: "user" | "assistant" = "user") =>
    below.onHostEvent({ type: "message", sessionID, message: { id, role } } as HostEvent);
  return { clock, below, hear, begin, write, isUnderWay: () => below.isUnderWay(TASK) };
};

test("a session below works from the first sign of it to its end, and the task itself is none of them", () => {
  const { below, hear, isUnderWay } = setUp();
  expect(isUnderWay()).toBe(false);
  for (const type of ["busy", "retrying"] as const) {
    hear(type);
    expect(isUnderWay()).toBe(true);
    hear("idle");
    expect(isUnderWay()).toBe(false);
  }
  hear("busy");
  hear("deleted");
  expect(isUnderWay()).toBe(false);
  hear("busy", TASK);
  hear("busy", "ses_other");
  expect([isUnderWay(), below.isUnderWay("ses_task2")]).toEqual([false, true]);
});

test("a subagent in the background keeps its task from ending until its caller has its result and goes on", () => {
  const { hear, begin, write, isUnderWay } = setUp();
  begin();
  expect(isUnderWay()).toBe(true);
  hear("busy");
  hear("idle");
  expect(isUnderWay()).toBe(true);
  write();
  expect(isUnderWay()).toBe(true);
  hear("busy", TASK);
  expect(isUnderWay()).toBe(false);
});

test("what a caller does before it has the result ends no wait for it", () => {
  const { hear, begin, write, isUnderWay } = setUp();
  begin();
  hear("busy");
  hear("busy", TASK);
  write();
  hear("busy", TASK);
  hear("idle");
  hear("busy", TASK);
  expect(isUnderWay()).toBe(true);
});

test("neither an agent's message, nor one of this plugin, nor one to another session brings the result", () => {
  const { clock, hear, begin, write, isUnderWay } = setUp();
  begin();
  hear("busy");
  hear("idle");
  write(TASK, "msg_1", "assistant");
  write(TASK, createIds(clock).message());
  write("ses_deep");
  hear("busy", TASK);
  expect(isUnderWay()).toBe(true);
});

test("each message brings the result of one subagent, and the caller going on concerns those that were reported alone", () => {
  const { hear, begin, write, isUnderWay } = setUp();
  for (const id of [SUBAGENT, "ses_second"]) {
    begin(TASK, id);
    hear("busy", id);
    hear("idle", id);
  }
  write();
  hear("busy", TASK);
  expect(isUnderWay()).toBe(true);
  write();
  hear("busy", "ses_deep");
  hear("idle", "ses_deep");
  expect(isUnderWay()).toBe(true);
  hear("busy", TASK);
  expect(isUnderWay()).toBe(false);
});

test("a subagent of a session below the task is below the task, too", () => {
  const { below, hear, begin, isUnderWay } = setUp();
  begin("ses_deep");
  expect([isUnderWay(), below.isUnderWay("ses_task2")]).toEqual([true, false]);
  hear("deleted");
  expect(isUnderWay()).toBe(false);
});

test.each<[string, (world: ReturnType<typeof setUp>) => void]>([
  ["never begins", ({ begin }) => begin()],
  [
    "has ended, and whose result never comes",
    ({ begin, hear }) => {
      begin();
      hear("busy");
      hear("idle");
    },
  ],
  [
    "is reported to a caller that never goes on",
    ({ begin, hear, write }) => {
      begin();
      hear("busy");
      hear("idle");
      write();
    },
  ],
])("a subagent that %s is waited for ten seconds", async (_, play) => {
  const world = setUp();
  play(world);
  await world.clock.advance(PATIENCE - 1);
  expect(world.isUnderWay()).toBe(true);
  await world.clock.advance(1);
  expect(world.isUnderWay()).toBe(false);
});

test("a subagent that has begun to work is waited for as long as it works, and its result after that", async () => {
  const { clock, hear, begin, isUnderWay } = setUp();
  begin();
  hear("busy");
  await clock.advance(10 * PATIENCE);
  expect(isUnderWay()).toBe(true);
  hear("idle");
  expect(isUnderWay()).toBe(true);
});

test("a tool call that begins no subagent begins none", () => {
  const { below, isUnderWay } = setUp();
  const call = { type: "toolCall", sessionID: TASK, callID: "call_1", tool: "read", stage: "stored" } as const;
  below.onHostEvent(call);
  below.onHostEvent({ ...call, effect: { kind: "read", path: "a.ts" } });
  expect(isUnderWay()).toBe(false);
});

test("a subagent at work is waited for as long as it works; its end is not missed for having begun before its call was seen", async () => {
  const { clock, hear, begin, isUnderWay } = setUp();
  hear("busy");
  begin();
  await clock.advance(10 * PATIENCE);
  expect(isUnderWay()).toBe(true);
  hear("idle");
  expect(isUnderWay()).toBe(true);
  await clock.advance(PATIENCE);
  expect(isUnderWay()).toBe(false);
});

test("a session that the host lists no more has ended, unless it was heard of a moment ago", async () => {
  const { clock, below, hear, isUnderWay } = setUp();
  hear("busy");
  await clock.advance(PATIENCE - 1);
  below.onBusyRead(new Set());
  expect(isUnderWay()).toBe(true);
  await clock.advance(1);
  below.onBusyRead(new Set([SUBAGENT]));
  expect(isUnderWay()).toBe(true);
  // Where a worktree does not answer, the list has its task alone.
  below.onBusyRead(new Set([TASK]));
  expect(isUnderWay()).toBe(true);
  below.onBusyRead(new Set(["ses_other"]));
  expect(isUnderWay()).toBe(false);
});

test("a task that the host lists no more has ended, and its subagent with it", async () => {
  const { clock, below, hear, begin, isUnderWay } = setUp();
  hear("busy", TASK);
  begin();
  hear("busy");
  await clock.advance(PATIENCE);
  below.onBusyRead(new Set());
  expect(isUnderWay()).toBe(true);
  await clock.advance(PATIENCE);
  expect(isUnderWay()).toBe(false);
});
