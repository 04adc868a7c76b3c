import { describe, expect, test } from "vitest";
import { isCopying } from "../../../src/machines/launch/machine.ts";
import { START } from "../../fakes/task-input.ts";
import {
  begun,
  type DrivenLaunch,
  launchIn,
  type Place,
  pendingOf,
  pendingText,
  refusedFor,
  removal,
  started,
  stateOf,
  WORKTREE,
} from "./driven-launch.ts";

const STORING = "preparing.creating.informing.storing";
const PAUSING = "preparing.creating.informing.pausing";

const storePreamble = { type: "storePreamble", launchId: "msg_1", sessionID: "ses_1" };
const startTask = (messageID: string) => ({
  ...{ type: "startTask", launchId: "msg_1", sessionID: "ses_1", messageID },
  ...{ worktree: undefined, offer: undefined },
});

/** Pauses between attempts to store the message, in milliseconds. */
const PAUSES = [500, 1_000, 2_000, 4_000, 8_000];

const NOT_STORED = "its preamble could not be stored in 6 attempts";

/** Has the message stored in vain, as often as there are pauses, and be stored once more. */
const storeInVain = (launch: DrivenLaunch): DrivenLaunch => {
  for (const _ of PAUSES) {
    launch.take("PREAMBLE_NOT_STORED");
    launch.take("TICK");
  }
  return launch;
};

describe("a copy of the conversation", () => {
  test("is asked for, and stored as one", () => {
    const pending = pendingOf({ fork: true });
    expect(begun({ isFork: true }).take("TURN_TAKEN")).toStrictEqual([
      { type: "createSession", launchId: "msg_1", pending, source: "copy", worktree: undefined },
    ]);
  });

  test.for([
    [undefined, {}],
    [WORKTREE, { needsWorktree: true }],
  ] as const)("is marked and shortened, in the worktree %j", ([worktree, input]) => {
    const launch = launchIn("requestingCopy", input);
    const pending = pendingOf({ fork: true });
    expect(launch.take("SESSION_CREATED")).toStrictEqual([
      { type: "cutCopy", launchId: "msg_1", sessionID: "ses_1", pending, worktree },
    ]);
    expect(stateOf(launch)).toBe("preparing.creating.cutting");
  });

  test("begins with a message that the agent reads first, and then its task", () => {
    const launch = launchIn("cutting");
    expect(launch.take("COPY_CUT")).toStrictEqual([storePreamble]);
    expect(stateOf(launch)).toBe(STORING);
    expect(launch.take("PREAMBLE_STORED")).toStrictEqual([startTask("msg_1")]);
    expect(launch.take("TASK_STARTED")).toStrictEqual([started()]);
  });

  test("may be about while it is created and marked, or while the answer to that is awaited", () => {
    const copying: Record<string, boolean> = {};
    const places: Place[] = ["waiting", "requestingCopy", "cutting", "informing", "removingCopy", "requestingText"];
    for (const place of places) copying[place] = isCopying(launchIn(place, { isFork: true }).snapshot);
    expect(copying).toEqual({
      ...{ waiting: false, requestingCopy: true, cutting: true, informing: false, removingCopy: false },
      requestingText: false,
    });
    expect(isCopying(launchIn("requesting").snapshot)).toBe(false);
    expect(isCopying(launchIn("awaitingAnswer").snapshot)).toBe(false);
    expect(isCopying(launchIn("awaitingAnswer", { isFork: true }).snapshot)).toBe(true);
    const beforeItsTurn = begun({ asksFleet: true, isFork: true });
    beforeItsTurn.take("CANCEL");
    expect(isCopying(beforeItsTurn.snapshot)).toBe(false);
  });
});

describe("the message that the agent reads first", () => {
  test.each(["informing", "informingOfText"] as const)("is stored again after pauses that double, %s", (place) => {
    const launch = launchIn(place);
    let now = START;
    expect(launch.snapshot.context.tries).toBe(1);
    for (const [index, pause] of PAUSES.entries()) {
      expect(launch.take("PREAMBLE_NOT_STORED")).toStrictEqual([]);
      expect(stateOf(launch)).toBe(PAUSING);
      now += pause;
      expect(launch.snapshot.context.nextDeadline).toBe(now);
      expect(launch.refuses("TICK", { at: now - 1 })).toBe(true);
      expect(launch.take("TICK", { at: now })).toStrictEqual([storePreamble]);
      expect(stateOf(launch)).toBe(STORING);
      expect(launch.snapshot.context).toMatchObject({ tries: index + 2, nextDeadline: undefined });
    }
  });

  test("may be stored the sixth time, too", () => {
    const launch = storeInVain(launchIn("informing"));
    expect(launch.take("PREAMBLE_STORED")).toStrictEqual([startTask("msg_1")]);
  });

  test("that a copy has not after six times gives it up for a text, and its caller hears why", () => {
    const launch = storeInVain(launchIn("informing"));
    expect(launch.take("PREAMBLE_NOT_STORED")).toStrictEqual([removal(["ses_1"], pendingOf({ fork: true }))]);
    expect(stateOf(launch)).toBe("preparing.creating.removingCopy");
    expect(launch.snapshot.context).toMatchObject({ forkRefusal: NOT_STORED, refusal: undefined });
  });

  test("that a text has not after six times gives its session up, and its caller hears why", () => {
    const launch = storeInVain(launchIn("informingOfText"));
    expect(launch.take("PREAMBLE_NOT_STORED")).toStrictEqual([removal(["ses_1"], pendingText)]);
    expect(stateOf(launch)).toBe("givingUp.removingSession");
    expect(launch.take("SESSIONS_REMOVED")).toStrictEqual([
      refusedFor({ why: "notCreated", reason: NOT_STORED, isKnown: true }),
    ]);
  });

  test("that OpenCode refuses gives a text's session up, and its caller hears why", () => {
    const launch = launchIn("informingOfText");
    expect(launch.take("PREPARATION_FAILED")).toStrictEqual([removal(["ses_1"], pendingText)]);
    expect(launch.take("SESSIONS_REMOVED")).toStrictEqual([
      refusedFor({ why: "notCreated", reason: "BadRequest: not this", isKnown: true }),
    ]);
  });

  test("is stored six times also where its session was looked for before", () => {
    const launch = launchIn("lookingForText");
    launch.take("SESSION_NOT_FOUND");
    launch.take("TICK");
    launch.take("SESSION_FOUND");
    expect(launch.snapshot.context.tries).toBe(1);
  });

  test("is not stored any more after a cancel in the pause, as no call is under way", () => {
    const launch = launchIn("informingAgain");
    expect(launch.take("CANCEL")).toStrictEqual([removal(["ses_1"], pendingOf({ fork: true }))]);
    expect(launch.snapshot.context).toMatchObject({ nextDeadline: undefined, refusal: { why: "stopped" } });
    expect(launch.take("SESSIONS_REMOVED")).toStrictEqual([refusedFor({ why: "stopped" })]);
  });
});
