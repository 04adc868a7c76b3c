import { expect, test } from "vitest";
import type { LaunchEvent } from "../../../src/machines/launch/events.ts";
import { replayLaunch } from "../../../src/machines/launch/replay.ts";
import { START } from "../../fakes/task-input.ts";

const at = START;

test("the journal of a launch says what each event led to", () => {
  const events: LaunchEvent[] = [
    { type: "TURN_TAKEN", at },
    { type: "SESSION_CREATED", at, sessionID: "ses_1" },
    { type: "TASK_STARTED", at },
  ];
  expect(replayLaunch({ input: {}, events }, "msg_1", "ses_parent")).toStrictEqual([
    { event: events[0], from: "preparing.waiting", to: "preparing.creating.requesting", effects: ["createSession"] },
    { event: events[1], from: "preparing.creating.requesting", to: "starting", effects: ["startTask"] },
    { event: events[2], from: "starting", to: "started", effects: ["answerCall"] },
  ]);
});

test("a journal begins as its launch did", () => {
  const events: LaunchEvent[] = [
    { type: "TURN_TAKEN", at },
    { type: "CREATION_REFUSED", at, reason: "no" },
  ];
  expect(replayLaunch({ input: { isFork: true }, events }, "msg_1", "ses_parent")[1]).toStrictEqual({
    ...{ event: events[1], from: "preparing.creating.requesting", to: "preparing.creating.readingConversation" },
    effects: ["endPending", "readConversation"],
  });
});

test("an event that requests nothing is a step, too", () => {
  const [step] = replayLaunch({ input: { asksFleet: true }, events: [{ type: "CANCEL", at }] }, "msg_1", "ses_parent");
  expect(step).toStrictEqual({
    ...{ event: { type: "CANCEL", at }, from: "preparing.askingFleet", to: "givingUp.awaitingAnswer" },
    effects: [],
  });
});
