import { describe, expect, test } from "vitest";
import type { LaunchEffect, LeftBehind } from "../../../src/machines/launch/events.ts";
import { leftLaunch } from "../../../src/machines/launch/machine.ts";
import { START } from "../../fakes/task-input.ts";
import { begun, type DrivenLaunch, launchIn, pendingOf, refusedFor, removal, stateOf } from "./driven-launch.ts";

/** How long a session is looked for that nobody waits for, in milliseconds. */
const SEARCH_FOR = 900_000;

const left = (more: Partial<LeftBehind> = {}): LeftBehind => ({
  ...{ pending: pendingOf(), isFinal: false, tries: 1, dueAt: START + 5_000 },
  ...more,
});

/** The actor that removes what a launch has left. */
const removing = (more: Partial<LeftBehind> = {}): DrivenLaunch => begun(leftLaunch(left(more)));

/** What that actor requests: its name is another than the launch's. */
const ofActor = (effect: LaunchEffect, more: object = {}) => ({ ...effect, launchId: "msg_1/left", ...more });

describe("a session that a launch could not delete", () => {
  test("is tried again three seconds after the caller was answered", () => {
    const launch = launchIn("removingSession");
    expect(launch.take("SESSIONS_LEFT", { sessions: ["ses_1"], at: START + 40 })).toStrictEqual([
      refusedFor({ why: "fault", reason: "a fault of ours" }),
    ]);
    expect(stateOf(launch)).toBe("leftBehind.pausing");
    expect(launch.snapshot.context).toMatchObject({ tries: 1, nextDeadline: START + 3_040, sessions: ["ses_1"] });
    expect(launch.refuses("TICK", { at: START + 3_039 })).toBe(true);
    expect(launch.take("TICK", { at: START + 3_040 })).toStrictEqual([removal(["ses_1"])]);
    expect(launch.take("SESSIONS_REMOVED")).toStrictEqual([]);
    expect(stateOf(launch)).toBe("removed");
    expect(launch.snapshot.status).toBe("done");
  });

  test("is looked for where none is known", () => {
    const launch = launchIn("requesting");
    launch.take("FAULT");
    launch.take("SESSIONS_LEFT");
    expect(launch.take("TICK")).toStrictEqual([removal(undefined)]);
  });

  test("is tried again after a first pause also where something else was tried before", () => {
    const launch = launchIn("lookingAgain");
    for (const type of ["TICK", "SESSION_NOT_FOUND", "FAULT", "SESSIONS_LEFT"] as const) launch.take(type);
    expect(launch.snapshot.context).toMatchObject({ tries: 1, nextDeadline: START + 1_000 + 3_000 });
  });
});

describe("what a launch has left", () => {
  test("is removed by an actor of its own, as soon as it is due", () => {
    const launch = removing({ sessions: ["ses_1"], tries: 3 });
    expect(launch.began).toStrictEqual([]);
    expect(stateOf(launch)).toBe("leftBehind.pausing");
    expect(launch.snapshot.context).toMatchObject({
      ...{ id: "msg_1/left", parentSessionID: "ses_parent", isLeft: true, isFinal: false },
      ...{ pending: pendingOf(), sessions: ["ses_1"], tries: 3, nextDeadline: START + 5_000 },
    });
    expect(launch.refuses("TICK", { at: START + 4_999 })).toBe(true);
    expect(launch.take("TICK", { at: START + 5_000 })).toStrictEqual([ofActor(removal(["ses_1"]))]);
    expect(stateOf(launch)).toBe("leftBehind.removing");
    expect(launch.snapshot.context.nextDeadline).toBeUndefined();
    expect(launch.take("SESSIONS_REMOVED")).toStrictEqual([]);
    expect(stateOf(launch)).toBe("removed");
  });

  test("is looked for by what is stored of it, also after OpenCode's end", () => {
    expect(removing({ isFinal: true }).take("TICK")).toStrictEqual([ofActor(removal(undefined), { isFinal: true })]);
  });

  test("is tried again after pauses that double, up to a minute", () => {
    const launch = removing({ isFinal: true });
    let now = START + 5_000;
    launch.take("TICK");
    for (const [index, pause] of [6_000, 12_000, 24_000, 48_000, 60_000, 60_000].entries()) {
      expect(launch.take("SESSIONS_LEFT")).toStrictEqual([]);
      expect(stateOf(launch)).toBe("leftBehind.pausing");
      now += pause;
      expect(launch.snapshot.context).toMatchObject({ tries: index + 2, nextDeadline: now });
      expect(launch.refuses("TICK", { at: now - 1 })).toBe(true);
      expect(launch.take("TICK", { at: now })).toStrictEqual([ofActor(removal(undefined), { isFinal: true })]);
    }
  });

  test.for([
    ["those that were found", { sessions: ["ses_1", "ses_2"] }, ["ses_1", "ses_2"]],
    ["those that were known before, where none is named", {}, ["ses_1"]],
  ] as const)("are then %s", ([, found, sessions]) => {
    const launch = removing({ sessions: ["ses_1"] });
    launch.take("TICK");
    launch.take("SESSIONS_LEFT", found);
    expect(launch.take("TICK")).toStrictEqual([ofActor(removal([...sessions]))]);
  });

  test("is looked for for fifteen minutes, and then left to the next process", () => {
    const atLast = removing();
    atLast.take("TICK");
    expect(atLast.take("SESSIONS_LEFT", { at: START + SEARCH_FOR })).toStrictEqual([]);
    expect(stateOf(atLast)).toBe("leftBehind.pausing");

    const tooLate = removing();
    tooLate.take("TICK");
    expect(tooLate.take("SESSIONS_LEFT", { at: START + SEARCH_FOR + 1 })).toStrictEqual([
      { type: "leaveToNext", launchId: "msg_1/left", pending: pendingOf() },
    ]);
    expect(stateOf(tooLate)).toBe("leftToNext");
    expect(tooLate.snapshot.status).toBe("done");
  });

  test("is deleted without end where OpenCode has ended since: nothing else can appear", () => {
    const launch = removing({ isFinal: true });
    launch.take("TICK");
    expect(launch.take("SESSIONS_LEFT", { at: START + SEARCH_FOR + 1 })).toStrictEqual([]);
    expect(stateOf(launch)).toBe("leftBehind.pausing");
  });

  test.each(["in the pause", "while it is removed"])(
    "stays for the next process when the plugin is disposed of %s",
    (when) => {
      const launch = removing();
      if (when === "while it is removed") launch.take("TICK");
      expect(launch.take("CLOSE")).toStrictEqual([]);
      expect(stateOf(launch)).toBe("closed");
      expect(launch.snapshot.context.pending).toEqual(pendingOf());
    },
  );
});
