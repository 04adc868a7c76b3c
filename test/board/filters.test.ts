import { expect, test } from "vitest";
import { apiParameters, matches, readPlace, writePlace } from "../../board/filters.ts";

const NOTHING = { status: "", agent: "", directory: "", search: "", task: "", view: "" };

test("a place is the same after it was written into an address and read again", () => {
  const place = { ...NOTHING, status: "active", search: "50% & more", directory: "/home/me/a b", task: "ses_1" };
  expect(readPlace(writePlace(place))).toEqual(place);
  expect(writePlace(NOTHING)).toBe("");
  expect(readPlace("?status=error&unknown=1")).toEqual({ ...NOTHING, status: "error" });
});

test("only what is given is asked of the API", () => {
  expect(String(apiParameters({ ...NOTHING, agent: "docs" }))).toBe("agent=docs");
});

test("a task matches by status, agent, directory and text, ignoring case and composition", () => {
  const task = {
    status: "resumed",
    agent: "docs",
    directory: "/p",
    description: "Écrire le guide",
    attention: undefined,
  } as const;
  const isFound = (filters: Partial<typeof NOTHING>) => matches(task, { ...NOTHING, ...filters });
  expect(isFound({})).toBe(true);
  expect(isFound({ status: "active", agent: "docs", directory: "/p", search: "e\u0301CRIRE" })).toBe(true);
  expect(isFound({ status: "resumed" })).toBe(true);
  for (const other of [
    { status: "completed" },
    { status: "waiting" },
    { agent: "doc" },
    { directory: "/" },
    { search: "x" },
  ]) {
    expect({ other, isFound: isFound(other) }).toEqual({ other, isFound: false });
  }
});

test("silence is no request: such a task does not wait for a person", () => {
  const since = "2026-11-23T10:00:00.000Z";
  const task = { status: "running", agent: "a", directory: "/", description: "" } as const;
  const waiting = { ...NOTHING, status: "waiting" };
  expect(matches({ ...task, attention: { kind: "stale", what: "", since } }, waiting)).toBe(false);
  expect(matches({ ...task, attention: { kind: "question", what: "?", since } }, waiting)).toBe(true);
});
