import { describe, expect, test } from "vitest";
import type { LaunchEffect, LaunchEvent, LaunchInput } from "../../../src/machines/launch/events.ts";
import { START } from "../../fakes/task-input.ts";
import {
  launchIn,
  type Place,
  pendingOf,
  pendingText,
  refusedFor,
  removal,
  stateOf,
  WORKTREE,
  worktreeRemoval,
} from "./driven-launch.ts";

const AWAITING = "givingUp.awaitingAnswer";
const REMOVING = "givingUp.removingSession";

const stopped = refusedFor({ why: "stopped" });
const fault = refusedFor({ why: "fault", reason: "a fault of ours" });
const pendingCopy = pendingOf({ fork: true });

/** What follows an event: what is requested, and the state. */
type Follows = readonly [LaunchEffect[], string];

const refused: Follows = [[stopped], "refused"];

describe("a cancel", () => {
  test.each([
    ["makingWorktree", AWAITING],
    ["askingFleet", AWAITING],
    ["requesting", AWAITING],
    ["looking", AWAITING],
    ["cutting", AWAITING],
    ["informing", AWAITING],
    ["removingCopy", AWAITING],
    ["readingConversation", AWAITING],
  ] as const)("waits for the call that is under way: %s", (place, state) => {
    const launch = launchIn(place);
    expect(launch.take("CANCEL")).toStrictEqual([]);
    expect(stateOf(launch)).toBe(state);
    expect(launch.snapshot.context.refusal).toEqual({ why: "stopped" });
  });

  test("is answered at once before the launch's turn", () => {
    const launch = launchIn("waiting");
    expect(launch.take("CANCEL")).toStrictEqual([stopped]);
    expect(stateOf(launch)).toBe("refused");
    expect(launch.snapshot).toMatchObject({ status: "done", context: { refusal: { why: "stopped" } } });
  });

  test.for<[Place, LaunchEvent["type"], Follows]>([
    ["makingWorktree", "WORKTREE_MADE", [[worktreeRemoval], "givingUp.removingWorktree"]],
    [
      "makingWorktree",
      "WORKTREE_REFUSED",
      [[refusedFor({ why: "noWorktree", reason: "No worktree could be made." })], "refused"],
    ],
    ["makingWorktree", "FAULT", refused],
    ["askingFleet", "FLEET_ANSWERED", refused],
    ["requesting", "SESSION_CREATED", [[removal(["ses_1"])], REMOVING]],
    [
      "requesting",
      "CREATION_REFUSED",
      [[{ type: "endPending", launchId: "msg_1", messageID: "msg_1" }, stopped], "refused"],
    ],
    ["requesting", "CREATION_UNCONFIRMED", [[removal(undefined)], REMOVING]],
    ["looking", "SESSION_FOUND", [[removal(["ses_1"])], REMOVING]],
    ["looking", "SESSION_NOT_FOUND", [[removal(undefined)], REMOVING]],
    ["looking", "FAULT", [[removal(undefined)], REMOVING]],
    ["cutting", "COPY_CUT", [[removal(["ses_1"], pendingCopy)], REMOVING]],
    ["cutting", "PREPARATION_FAILED", [[removal(["ses_1"], pendingCopy)], REMOVING]],
    ["informing", "PREAMBLE_STORED", [[removal(["ses_1"], pendingCopy)], REMOVING]],
    ["informing", "PREAMBLE_NOT_STORED", [[removal(["ses_1"], pendingCopy)], REMOVING]],
    ["informingOfText", "PREAMBLE_STORED", [[removal(["ses_1"], pendingText)], REMOVING]],
    ["removingCopy", "SESSIONS_REMOVED", refused],
    ["removingCopy", "SESSIONS_LEFT", [[stopped], "leftBehind.pausing"]],
    ["readingConversation", "CONVERSATION_READ", refused],
    ["readingConversation", "CONVERSATION_NOT_READ", refused],
  ])("during the state %s has what is left removed after %s", ([place, event, [effects, state]]) => {
    const launch = launchIn(place);
    launch.take("CANCEL");
    expect(launch.take(event)).toStrictEqual(effects);
    expect(stateOf(launch)).toBe(state);
  });

  test("during the removal of a copy leaves the sessions that are known", () => {
    const launch = launchIn("removingCopy");
    launch.take("CANCEL");
    launch.take("SESSIONS_LEFT", { sessions: ["ses_1", "ses_2"] });
    expect(launch.take("TICK")).toStrictEqual([removal(["ses_1", "ses_2"], pendingCopy)]);
  });

  test("while all is removed is answered as one", () => {
    const launch = launchIn("removingSession");
    expect(launch.take("CANCEL")).toStrictEqual([]);
    expect(stateOf(launch)).toBe(REMOVING);
    expect(launch.take("SESSIONS_REMOVED")).toStrictEqual([stopped]);
  });

  test("comes too late for a task that is being started", () => {
    expect(launchIn("starting").refuses("CANCEL")).toBe(true);
  });
});

describe("a fault", () => {
  test.for<[Place, Follows]>([
    ["makingWorktree", [[fault], "refused"]],
    ["askingFleet", [[fault], "refused"]],
    ["waiting", [[fault], "refused"]],
    ["requesting", [[removal(undefined)], REMOVING]],
    ["cutting", [[removal(["ses_1"], pendingCopy)], REMOVING]],
    ["informing", [[removal(["ses_1"], pendingCopy)], REMOVING]],
    ["removingCopy", [[removal(["ses_1"], pendingCopy)], REMOVING]],
    ["readingConversation", [[fault], "refused"]],
    ["starting", [[removal(["ses_1"])], REMOVING]],
  ])("ends a launch in the state %s", ([place, [effects, state]]) => {
    const launch = launchIn(place);
    expect(launch.take("FAULT")).toStrictEqual(effects);
    expect(stateOf(launch)).toBe(state);
    expect(launch.snapshot.context.refusal).toEqual({ why: "fault", reason: "a fault of ours" });
  });
});

describe("a task that OpenCode would start no plugin for", () => {
  test("is not started: its session and its worktree are removed, one after the other", () => {
    const launch = launchIn("starting", { needsWorktree: true });
    expect(launch.take("NOT_SERVED")).toStrictEqual([removal(["ses_1"])]);
    expect(launch.take("SESSIONS_REMOVED")).toStrictEqual([worktreeRemoval]);
    expect(stateOf(launch)).toBe("givingUp.removingWorktree");
    expect(launch.snapshot.context).toMatchObject({ pending: undefined, sessionID: undefined });
    expect(launch.take("WORKTREE_REMOVED")).toStrictEqual([refusedFor({ why: "notServed" })]);
    expect(stateOf(launch)).toBe("refused");
  });
});

describe("a worktree", () => {
  test("that was made is removed before the caller is answered, also where the session is left", () => {
    const launch = launchIn("requesting", { needsWorktree: true });
    launch.take("FAULT");
    expect(launch.take("SESSIONS_LEFT")).toStrictEqual([worktreeRemoval]);
    expect(launch.take("WORKTREE_REMOVED")).toStrictEqual([fault]);
    expect(stateOf(launch)).toBe("leftBehind.pausing");
  });

  test("that is not removed for a fault is left, and the caller hears of it", () => {
    const launch = launchIn("waiting", { needsWorktree: true });
    expect(launch.take("CANCEL")).toStrictEqual([worktreeRemoval]);
    expect(launch.take("FAULT", { reason: "no git" })).toStrictEqual([refusedFor({ why: "fault", reason: "no git" })]);
    expect(stateOf(launch)).toBe("refused");
  });

  test("of the caller is never removed", () => {
    for (const event of ["CANCEL", "FAULT", "CLOSE"] as const) {
      expect(launchIn("waiting", { worktree: WORKTREE }).take(event)).toMatchObject([{ type: "answerCall" }]);
    }
  });
});

describe("a launch whose plugin is disposed of", () => {
  const made = { needsWorktree: true };

  test.for<[Place, Partial<LaunchInput>, LaunchEffect[]]>([
    ["makingWorktree", {}, [stopped]],
    ["askingFleet", {}, [stopped]],
    ["waiting", {}, [stopped]],
    ["waiting", made, [worktreeRemoval, stopped]],
    ["requesting", {}, [stopped]],
    ["requesting", made, [worktreeRemoval, stopped]],
    ["lookingAgain", {}, [stopped]],
    ["informingAgain", {}, [stopped]],
    ["awaitingAnswer", {}, [stopped]],
    ["removingSession", {}, [stopped]],
    ["removingWorktree", {}, [worktreeRemoval, stopped]],
  ])("in the state %s, with %j, is answered at once", ([place, input, effects]) => {
    const launch = launchIn(place, input);
    expect(launch.take("CLOSE", { at: START + 1 })).toStrictEqual(effects);
    expect(stateOf(launch)).toBe("closed");
    expect(launch.snapshot.status).toBe("done");
  });

  test("keeps what is stored of its session, for the next process", () => {
    const launch = launchIn("requesting");
    launch.take("CLOSE");
    expect(launch.snapshot.context.pending).toEqual(pendingOf());
  });
});
