import { expect, test } from "vitest";
import type { HostSession } from "../../../src/machines/host-events.ts";
import { createObservedSessions } from "../../../src/services/runtime/observed-sessions.ts";

const session = (id: string, title = "a session"): HostSession => ({
  ...{ id, parentID: undefined, agent: "build", model: undefined, permission: [], title },
});

const observing = () => {
  const observed = createObservedSessions();
  const see = (id: string, title?: string) =>
    observed.onHostEvent({ type: "session", sessionID: id, session: session(id, title), isNew: false });
  return { observed, see };
};

test("a session is as it was described last, until it is deleted", () => {
  const { observed, see } = observing();
  expect(observed.sessionOf("ses_1")).toBeUndefined();
  see("ses_1");
  see("ses_1", "renamed");
  observed.onHostEvent({ type: "idle", sessionID: "ses_1" });
  expect(observed.sessionOf("ses_1")).toEqual(session("ses_1", "renamed"));
  observed.onHostEvent({ type: "deleted", sessionID: "ses_1" });
  expect(observed.sessionOf("ses_1")).toBeUndefined();
});

test("of more than 1,000 sessions, those that changed last are remembered", () => {
  const { observed, see } = observing();
  for (let id = 0; id < 1_000; id += 1) see(`ses_${id}`);
  see("ses_0");
  expect(observed.sessionOf("ses_1")).toBeDefined();
  see("ses_1000");
  expect(observed.sessionOf("ses_1")).toBeUndefined();
  expect([observed.sessionOf("ses_0"), observed.sessionOf("ses_2"), observed.sessionOf("ses_1000")]).not.toContain(
    undefined,
  );
});
