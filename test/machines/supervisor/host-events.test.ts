import { expect, test } from "vitest";
import type { HostEvent, HostSession, MessageInfo } from "../../../src/machines/host-events.ts";
import { toOutboxEvent, toTaskEvent } from "../../../src/machines/supervisor/events.ts";

const sessionID = "ses_1";
const at = 1_000;

const message = (given: Partial<MessageInfo>): HostEvent => ({
  ...{ type: "message", sessionID },
  message: {
    ...{ id: "msg_1", role: "assistant", createdAt: 900, promptID: "msg_0", completedAt: undefined },
    ...{ finish: undefined, error: undefined, isSummary: false },
    ...given,
  },
});

const session: HostSession = {
  id: sessionID,
  parentID: undefined,
  agent: undefined,
  model: undefined,
  permission: [],
  title: "",
};
const request = { id: "per_1", kind: "permission", what: "bash", since: 900 } as const;
const error = { name: "APIError", message: "slow down" };

/** What OpenCode reports of a session, what that is to the task in it, and what to the outbox of a session that has tasks. */
const EVENTS: readonly [string, HostEvent, object | undefined, object | undefined][] = [
  ["that it is busy", { type: "busy", sessionID }, { type: "HOST_BUSY", at }, { type: "PARENT_BUSY", at }],
  [
    "that its provider refuses for now",
    { type: "retrying", sessionID, attempt: 2, message: "429", until: 5_000 },
    { type: "HOST_RETRYING", at, attempt: 2, message: "429", until: 5_000 },
    { type: "PARENT_BUSY", at },
  ],
  ["that its model answers", { type: "answering", sessionID }, { type: "HOST_ANSWERING", at }, undefined],
  ["that it is idle", { type: "idle", sessionID }, { type: "HOST_IDLE", at }, { type: "PARENT_IDLE", at }],
  [
    "an error of the provider",
    { type: "error", sessionID, error },
    { type: "HOST_ERROR", at, error },
    { type: "PARENT_ERROR", at, message: "slow down" },
  ],
  [
    "a fault of its own",
    { type: "error", sessionID, error: { ...error, fault: "host" } },
    { type: "HOST_ERROR", at, error: { ...error, fault: "host" } },
    { type: "PARENT_ERROR", at, message: "slow down", fault: "host" },
  ],
  [
    "that it is deleted",
    { type: "deleted", sessionID },
    { type: "SESSION_DELETED", at },
    { type: "PARENT_CLOSED", at },
  ],
  ["that it asks a person", { type: "asked", sessionID, request }, { type: "REQUEST_ASKED", at, request }, undefined],
  [
    "that a person has answered",
    { type: "replied", sessionID, requestID: "per_1" },
    { type: "REQUEST_ANSWERED", at, id: "per_1" },
    undefined,
  ],
  [
    "that a person has changed it",
    { type: "session", sessionID, session, isNew: false },
    undefined,
    { type: "PARENT_CHANGED", at },
  ],
  [
    "a prompt in it",
    message({ role: "user", promptID: undefined }),
    undefined,
    { type: "PARENT_STORED", at, messageID: "msg_1", createdAt: 900 },
  ],
  ["an answer in it", message({}), undefined, { type: "PARENT_ANSWERED", at, promptID: "msg_0", createdAt: 900 }],
  ["an answer to nothing", message({ promptID: undefined }), undefined, undefined],
  ["the summary of a compaction", message({ isSummary: true }), undefined, undefined],
];

test.each(EVENTS)("OpenCode reports %s", (_, event, forTask, forOutbox) => {
  expect(toTaskEvent(event, at)).toStrictEqual(forTask);
  expect(toOutboxEvent(event, at)).toStrictEqual(forOutbox);
});
