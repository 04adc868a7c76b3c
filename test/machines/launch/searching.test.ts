import { describe, expect, test } from "vitest";
import { START } from "../../fakes/task-input.ts";
import { type DrivenLaunch, launchIn, pendingOf, pendingText, refusedFor, removal, stateOf } from "./driven-launch.ts";

const LOOKING = "preparing.creating.searching.looking";
const PAUSING = "preparing.creating.searching.pausing";

const findSession = { type: "findSession", launchId: "msg_1", pending: pendingOf() };

/** Pauses between attempts, in milliseconds. */
const PAUSES = [1_000, 2_000, 4_000, 8_000];

const UNCONFIRMED = { why: "notCreated", reason: "Timeout: no answer", isKnown: false } as const;

/** Has it looked for in vain, as often as there are pauses, and be looked for once more. */
const lookInVain = (launch: DrivenLaunch): DrivenLaunch => {
  for (const _ of PAUSES) {
    launch.take("SESSION_NOT_FOUND");
    launch.take("TICK");
  }
  return launch;
};

describe("a session that OpenCode refuses", () => {
  test("is no longer stored, and its caller hears the reason", () => {
    const launch = launchIn("requesting");
    expect(launch.take("CREATION_REFUSED", { reason: "BadRequest: no such agent" })).toStrictEqual([
      { type: "endPending", launchId: "msg_1", messageID: "msg_1" },
      refusedFor({ why: "notCreated", reason: "BadRequest: no such agent", isKnown: true }),
    ]);
    expect(stateOf(launch)).toBe("refused");
    expect(launch.snapshot.context.pending).toBeUndefined();
  });
});

describe("a session whose creation is not confirmed", () => {
  test("is looked for at once", () => {
    const launch = launchIn("requesting");
    expect(launch.take("CREATION_UNCONFIRMED")).toStrictEqual([findSession]);
    expect(stateOf(launch)).toBe(LOOKING);
    expect(launch.snapshot.context.tries).toBe(1);
  });

  test("is prepared like any other once it is found", () => {
    const launch = launchIn("looking");
    expect(launch.take("SESSION_FOUND", { sessionID: "ses_4" })).toMatchObject([
      { type: "startTask", sessionID: "ses_4", messageID: "msg_1" },
    ]);
    expect(stateOf(launch)).toBe("starting");
  });

  test("gets its text once it is found, where it is to have one", () => {
    const launch = launchIn("requestingText");
    expect(launch.take("CREATION_UNCONFIRMED")).toStrictEqual([{ ...findSession, pending: pendingText }]);
    expect(launch.take("SESSION_FOUND")).toStrictEqual([
      { type: "storePreamble", launchId: "msg_1", sessionID: "ses_1" },
    ]);
    expect(launch.snapshot.context.sessionID).toBe("ses_1");
  });

  test("is looked for again after pauses that double", () => {
    const launch = launchIn("looking");
    let now = START;
    for (const [index, pause] of PAUSES.entries()) {
      expect(launch.take("SESSION_NOT_FOUND")).toStrictEqual([]);
      expect(stateOf(launch)).toBe(PAUSING);
      now += pause;
      expect(launch.snapshot.context.nextDeadline).toBe(now);
      expect(launch.refuses("TICK", { at: now - 1 })).toBe(true);
      expect(launch.take("TICK", { at: now })).toStrictEqual([findSession]);
      expect(stateOf(launch)).toBe(LOOKING);
      expect(launch.snapshot.context).toMatchObject({ tries: index + 2, nextDeadline: undefined });
    }
  });

  test("is given up after the fifth time, and looked for to be deleted", () => {
    const launch = lookInVain(launchIn("looking"));
    expect(launch.take("SESSION_NOT_FOUND")).toStrictEqual([removal(undefined)]);
    expect(stateOf(launch)).toBe("givingUp.removingSession");
    expect(launch.take("SESSIONS_REMOVED")).toStrictEqual([refusedFor(UNCONFIRMED)]);
    expect(stateOf(launch)).toBe("refused");
  });

  test("may be found the fifth time, too", () => {
    const launch = lookInVain(launchIn("looking"));
    launch.take("SESSION_FOUND");
    expect(stateOf(launch)).toBe("starting");
  });

  test("is looked for five times also where something else was tried before", () => {
    const launch = launchIn("informing");
    for (const _ of [1, 2, 3]) {
      launch.take("PREAMBLE_NOT_STORED");
      launch.take("TICK");
    }
    for (const type of ["PREPARATION_FAILED", "SESSIONS_REMOVED", "CONVERSATION_READ"] as const) launch.take(type);
    expect(launch.snapshot.context.tries).toBe(4);
    launch.take("CREATION_UNCONFIRMED");
    expect(launch.snapshot.context.tries).toBe(1);
  });

  test.each([
    ["while it is looked for", "looking"],
    ["in the pause before that", "lookingAgain"],
  ] as const)("is given up for a fault %s, of which its caller does not hear", (_, place) => {
    const launch = launchIn(place);
    expect(launch.take("FAULT")).toStrictEqual([removal(undefined)]);
    expect(launch.snapshot.context.nextDeadline).toBeUndefined();
    expect(launch.take("SESSIONS_REMOVED")).toStrictEqual([refusedFor(UNCONFIRMED)]);
  });

  test("is given up at once for a cancel in the pause, as no call is under way", () => {
    const launch = launchIn("lookingAgain");
    expect(launch.take("CANCEL")).toStrictEqual([removal(undefined)]);
    expect(stateOf(launch)).toBe("givingUp.removingSession");
    expect(launch.snapshot.context.nextDeadline).toBeUndefined();
    expect(launch.take("SESSIONS_REMOVED")).toStrictEqual([refusedFor({ why: "stopped" })]);
  });
});
