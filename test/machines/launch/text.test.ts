import { describe, expect, test } from "vitest";
import { START } from "../../fakes/task-input.ts";
import {
  afterEvents,
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

const pendingCopy = pendingOf({ fork: true });

const read = (reason: string) => ({
  ...{ type: "readConversation", launchId: "msg_1", parentSessionID: "ses_parent", reason },
});

const leftCopy = (more: object) => ({
  ...{ type: "leaveCopy", launchId: "msg_1" },
  left: { pending: pendingCopy, isFinal: false, tries: 1, dueAt: START + 3_000, ...more },
});

const forgotten = { pending: undefined, sessionID: undefined, sessions: undefined };

describe("a conversation that cannot be copied", () => {
  test("is read at once where OpenCode refuses the copy, of which nothing is stored any more", () => {
    const launch = launchIn("requestingCopy");
    expect(launch.take("CREATION_REFUSED")).toStrictEqual([
      { type: "endPending", launchId: "msg_1", messageID: "msg_1" },
      read("BadRequest: no"),
    ]);
    expect(stateOf(launch)).toBe("preparing.creating.readingConversation");
    expect(launch.snapshot.context).toMatchObject({ ...forgotten, forkRefusal: "BadRequest: no", refusal: undefined });
  });

  test.for([
    ["its creation is not confirmed", "requestingCopy", "CREATION_UNCONFIRMED", undefined, "Timeout: no answer"],
    ["it cannot be shortened", "cutting", "PREPARATION_FAILED", ["ses_1"], "BadRequest: not this"],
    ["its first message is refused", "informing", "PREPARATION_FAILED", ["ses_1"], "BadRequest: not this"],
  ] as const satisfies [string, Place, string, string[] | undefined, string][])(
    "has what there is of the copy deleted first where %s",
    ([, place, event, sessions, reason]) => {
      const launch = launchIn(place);
      expect(launch.take(event)).toStrictEqual([removal(sessions && [...sessions], pendingCopy)]);
      expect(stateOf(launch)).toBe("preparing.creating.removingCopy");
      expect(launch.take("SESSIONS_REMOVED")).toStrictEqual([read(reason)]);
      expect(stateOf(launch)).toBe("preparing.creating.readingConversation");
      expect(launch.snapshot.context).toMatchObject({ ...forgotten, forkRefusal: reason, refusal: undefined });
    },
  );

  test.for([
    ["that is known", "removingCopy", { sessions: ["ses_1", "ses_2"] }, { sessions: ["ses_1", "ses_2"] }],
    ["that may appear later", "findingCopy", {}, {}],
  ] as const)("has a copy %s left to another actor where it is not deleted", ([, place, found, known]) => {
    const launch = launchIn(place);
    const reason = launch.snapshot.context.forkRefusal ?? "";
    expect(launch.take("SESSIONS_LEFT", found)).toStrictEqual([leftCopy(known), read(reason)]);
    expect(stateOf(launch)).toBe("preparing.creating.readingConversation");
    expect(launch.snapshot.context).toMatchObject(forgotten);
  });
});

describe("a conversation that is given as a text", () => {
  const reading = (): DrivenLaunch => launchIn("readingConversation");

  test("has a session of its own, under an id of its own", () => {
    const launch = reading();
    const pending = { ...pendingText, at: START + 9 };
    expect(launch.take("CONVERSATION_READ", { at: START + 9 })).toStrictEqual([
      { type: "createSession", launchId: "msg_1", pending, source: "text", worktree: undefined },
    ]);
    expect(stateOf(launch)).toBe("preparing.creating.requesting");
    expect(launch.snapshot.context).toMatchObject({ source: "text", pending });
  });

  test("has that session in the task's worktree", () => {
    const launch = launchIn("readingConversation", { needsWorktree: true });
    expect(launch.take("CONVERSATION_READ")).toMatchObject([{ type: "createSession", worktree: WORKTREE }]);
  });

  test("begins with a message that the agent reads first, and its task has the session's id", () => {
    const launch = afterEvents(reading(), "CONVERSATION_READ");
    expect(launch.take("SESSION_CREATED")).toStrictEqual([
      { type: "storePreamble", launchId: "msg_1", sessionID: "ses_1" },
    ]);
    expect(stateOf(launch)).toBe("preparing.creating.informing.storing");
    expect(launch.take("PREAMBLE_STORED")).toStrictEqual([
      {
        ...{ type: "startTask", launchId: "msg_1", sessionID: "ses_1", messageID: "msg_2" },
        ...{ worktree: undefined, offer: undefined },
      },
    ]);
    expect(launch.take("TASK_STARTED")).toStrictEqual([
      started({ messageID: "msg_2", forkRefusal: "BadRequest: no" } as object),
    ]);
  });

  test("is given up where it cannot be read, and its caller hears why", () => {
    const launch = reading();
    expect(launch.take("CONVERSATION_NOT_READ")).toStrictEqual([
      refusedFor({ why: "notCreated", reason: "NotFound: no session", isKnown: true }),
    ]);
    expect(stateOf(launch)).toBe("refused");
  });

  test("is given up where OpenCode refuses its session, too", () => {
    const launch = afterEvents(reading(), "CONVERSATION_READ");
    expect(launch.take("CREATION_REFUSED", { reason: "BadRequest: still no" })).toStrictEqual([
      { type: "endPending", launchId: "msg_1", messageID: "msg_2" },
      refusedFor({ why: "notCreated", reason: "BadRequest: still no", isKnown: true }),
    ]);
    expect(stateOf(launch)).toBe("refused");
  });
});
