import { describe, expect, test } from "vitest";
import { START } from "../../fakes/task-input.ts";
import { afterEvents, begun, launchIn, pendingOf, refusedFor, started, stateOf, WORKTREE } from "./driven-launch.ts";

const makeWorktree = { type: "makeWorktree", launchId: "msg_1" };
const askFleet = { type: "askFleet", launchId: "msg_1" };
const takeTurn = { type: "takeTurn", launchId: "msg_1" };

const OFFER = { pool: "p", commit: "c", attempts: 2, patience: 900_000 };
const OF_THE_CALLER = { id: "w0", directory: "/worktrees/w0", isShared: true };

const startTask = (more: object = {}) => ({
  ...{ type: "startTask", launchId: "msg_1", sessionID: "ses_1", messageID: "msg_1" },
  ...{ worktree: undefined, offer: undefined },
  ...more,
});

describe("a launch begins", () => {
  test.for([
    ["with its turn where nothing else is wanted", {}, "preparing.waiting", takeTurn],
    ["with its turn where it is a fork", { isFork: true }, "preparing.waiting", takeTurn],
    ["with its turn where it works in its caller's worktree", { worktree: WORKTREE }, "preparing.waiting", takeTurn],
    ["with the worktree that it needs", { needsWorktree: true }, "preparing.makingWorktree", makeWorktree],
    ["with the fleet where this server is in one", { asksFleet: true }, "preparing.askingFleet", askFleet],
    [
      "with the worktree where it needs one and the fleet is asked",
      { needsWorktree: true, asksFleet: true },
      "preparing.makingWorktree",
      makeWorktree,
    ],
  ] as const)("%s", ([, input, state, effect]) => {
    const launch = begun(input);
    expect(stateOf(launch)).toBe(state);
    expect(launch.began).toStrictEqual([effect]);
  });

  test("with nothing but what it is given", () => {
    expect(begun().snapshot.context).toStrictEqual({
      ...{ id: "msg_1", parentSessionID: "ses_parent", needsWorktree: false, asksFleet: false, isLeft: false },
      ...{ source: "empty", worktree: undefined, offer: undefined, notOffered: undefined, forkRefusal: undefined },
      ...{ pending: undefined, sessionID: undefined, sessions: undefined, refusal: undefined },
      ...{ isFinal: false, tries: 0, nextDeadline: undefined },
    });
    expect(begun({ isFork: true, needsWorktree: true, asksFleet: true, worktree: WORKTREE }).snapshot.context)
      // Nothing is pending before its turn has come.
      .toMatchObject({ source: "copy", needsWorktree: true, asksFleet: true, worktree: WORKTREE, pending: undefined });
  });
});

describe("a launch that needs a worktree", () => {
  test("waits for its turn once it is made", () => {
    const launch = begun({ needsWorktree: true });
    expect(launch.take("WORKTREE_MADE")).toStrictEqual([takeTurn]);
    expect(stateOf(launch)).toBe("preparing.waiting");
    expect(launch.snapshot.context.worktree).toStrictEqual(WORKTREE);
  });

  test("asks the fleet once it is made, where this server is in one", () => {
    const launch = begun({ needsWorktree: true, asksFleet: true });
    expect(launch.take("WORKTREE_MADE")).toStrictEqual([askFleet]);
    expect(stateOf(launch)).toBe("preparing.askingFleet");
    expect(launch.snapshot.context.worktree).toStrictEqual(WORKTREE);
  });

  test("is refused where none can be made", () => {
    const launch = begun({ needsWorktree: true });
    expect(launch.take("WORKTREE_REFUSED")).toStrictEqual([
      refusedFor({ why: "noWorktree", reason: "No worktree could be made." }),
    ]);
    expect(stateOf(launch)).toBe("refused");
  });

  test("has its session and its task there", () => {
    const launch = launchIn("waiting", { needsWorktree: true });
    expect(launch.take("TURN_TAKEN")).toMatchObject([{ type: "createSession", worktree: WORKTREE }]);
    expect(launch.take("SESSION_CREATED")).toStrictEqual([startTask({ worktree: WORKTREE })]);
  });
});

describe("a launch that works in its caller's worktree", () => {
  test("has its session and its task there", () => {
    const launch = begun({ worktree: OF_THE_CALLER });
    expect(launch.take("TURN_TAKEN")).toMatchObject([{ type: "createSession", worktree: OF_THE_CALLER }]);
    expect(launch.take("SESSION_CREATED")).toStrictEqual([startTask({ worktree: OF_THE_CALLER })]);
  });
});

describe("a launch of a server in a fleet", () => {
  test("is offered as the answer says", () => {
    const launch = begun({ asksFleet: true });
    expect(launch.take("FLEET_ANSWERED", { offer: OFFER })).toStrictEqual([takeTurn]);
    expect(stateOf(launch)).toBe("preparing.waiting");
    launch.take("TURN_TAKEN");
    expect(launch.take("SESSION_CREATED")).toStrictEqual([startTask({ offer: OFFER })]);
    expect(launch.take("TASK_STARTED")).toStrictEqual([started()]);
  });

  test("says to its caller why it is not offered", () => {
    const launch = begun({ asksFleet: true });
    expect(launch.take("FLEET_ANSWERED", { notOffered: "its commit is not pushed" })).toStrictEqual([takeTurn]);
    launch.take("TURN_TAKEN");
    expect(launch.take("SESSION_CREATED")).toStrictEqual([startTask()]);
    expect(launch.take("TASK_STARTED")).toStrictEqual([started({ notOffered: "its commit is not pushed" })]);
  });

  test("says nothing of the fleet where its agent is not for it", () => {
    const launch = afterEvents(begun({ asksFleet: true }), "FLEET_ANSWERED", "TURN_TAKEN", "SESSION_CREATED");
    expect(launch.take("TASK_STARTED")).toStrictEqual([started()]);
  });
});

describe("a launch whose turn has come", () => {
  test("has the session stored, with the time of its turn, when OpenCode is asked for it", () => {
    const launch = begun();
    expect(launch.take("TURN_TAKEN", { at: START + 7 })).toStrictEqual([
      {
        ...{ type: "createSession", launchId: "msg_1", pending: pendingOf({ at: START + 7 }) },
        ...{ source: "empty", worktree: undefined },
      },
    ]);
    expect(stateOf(launch)).toBe("preparing.creating.requesting");
    expect(launch.snapshot.context.pending).toStrictEqual(pendingOf({ at: START + 7 }));
  });

  test("becomes a task as soon as its session is there, and says so to its caller", () => {
    const launch = launchIn("requesting");
    expect(launch.take("SESSION_CREATED", { sessionID: "ses_7" })).toStrictEqual([startTask({ sessionID: "ses_7" })]);
    expect(stateOf(launch)).toBe("starting");
    expect(launch.take("TASK_STARTED")).toStrictEqual([started({ sessionID: "ses_7" } as object)]);
    expect(stateOf(launch)).toBe("started");
    expect(launch.snapshot.status).toBe("done");
  });
});
