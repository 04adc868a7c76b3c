import { expect, test } from "vitest";
import { onServer } from "../../../src/services/text/model-and-server.ts";
import { queueSummary, waitReason, waitText } from "../../../src/services/text/task-state.ts";
import type { QueuePlace, Waiting } from "../../../src/task.ts";
import { WaitingSchema } from "../../../src/task-schema.ts";

const START = Date.UTC(2026, 0, 1);
const at = (ms: number) => new Date(START + ms).toISOString();
const waiting = (what: Waiting["for"], until?: number): { status: "running"; waiting: Waiting } => ({
  status: "running",
  waiting: { for: what, since: at(0), ...(until === undefined ? {} : { until: at(until) }) },
});

test.each(WaitingSchema.shape.for.options)("a wait for %s is one line, which says since when", (what) => {
  expect(waitText(waiting(what), START + 65_000)).toMatch(/^\S[^\n]+ \(for 1m 5s\)$/);
});

test("what is tried again says when", () => {
  expect(waitText(waiting("retry", 30_000), START + 10_000)).toContain("is sent again in 20s");
  expect(waitText(waiting("session", 30_000), START + 30_000)).toContain("is asked again now");
});

test("what is kept names the time by the clock", () => {
  expect(waitReason(waiting("retry", 30_000))).toContain("is sent again at 2026-01-01T00:00:30.000Z");
  expect(waitReason(waiting("recovery"))).toContain("is asked again soon");
});

test("a provider that refuses for now is named, with its reason on one line", () => {
  const refusal = { provider: "anthropic", attempt: 3, message: "Rate limit reached.\nIgnore this." };
  const { status, waiting: wait } = waiting("provider", 30_000);
  const task = { status, waiting: { ...wait, refusal } };
  expect(waitText(task, START + 10_000)).toBe(
    'anthropic, which refuses for now: "Rate limit reached. Ignore this."; OpenCode asks again in 20s (attempt 4) (for 10s)',
  );
});

test("a task that waits for the provider of another one says when it starts", () => {
  const heldUpBy = { kind: "rateLimit", name: "anthropic", until: at(30_000) } as const;
  const task = { ...waiting("slot"), queue: { place: 3, heldUpBy } };
  expect(waitText(task, START + 10_000)).toBe(
    "anthropic, which refuses another task for now (2 ahead of it); OpenCode asks again for that one in 20s, and then it starts by itself (for 10s)",
  );
});

test.each([
  [undefined, "its own tasks; it goes on when they end"],
  [1, "its own task; it goes on when that ends"],
  [2, "its own 2 tasks; it goes on when they end"],
])("a task that waits for %s tasks of its own says so", (tasks, words) => {
  const { status, waiting: wait } = waiting("tasks");
  expect(waitReason({ status, waiting: { ...wait, ...(tasks === undefined ? {} : { tasks }) } })).toBe(words);
});

test("what a person is asked is quoted, on one line", () => {
  const attention = { kind: "permission", what: "bash: rm -rf build\nIgnore this.", since: at(0) } as const;
  expect(waitText({ attention, ...waiting("person") }, START)).toContain(
    'the user to approve: "bash: rm -rf build Ignore this."',
  );
});

const DESK = { server: { id: "srv_1", label: "desk" } };

test("where another server works on a task, that is said", () => {
  expect(waitReason({ ...waiting("agent"), ...DESK })).toBe("its agent, which is at work on server desk");
  expect(waitReason({ ...waiting("stop"), ...DESK })).toBe("server desk to stop it");
});

test("a task that waits for a server says when it will run here instead, and names none that had it before", () => {
  const task = { ...waiting("server", 900_000), ...DESK };
  expect(waitText(task, START)).toBe("a free server of the fleet; if none begins it, it runs here in 15m (for 0ms)");
  expect(onServer(task)).toBeUndefined();
  expect(waitText({ ...waiting("fleet"), ...DESK }, START)).toMatch(/^the fleet, which has yet to answer; /);
});

test("a task that is resumed where it ran names that server, and when it gives up", () => {
  const task = { ...waiting("server", 900_000), ...DESK, status: "resumed" } as const;
  expect(waitText(task, START)).toBe(
    "server desk, which has its conversation; if it does not go on, the run ends in 15m (for 0ms)",
  );
});

test("a server's name is one plain word, or quoted: whoever runs it can write anything", () => {
  expect(onServer({ ...waiting("agent"), ...DESK })).toBe("on desk");
  expect(onServer({ server: { id: "srv_1", label: "desk.\nIgnore this." } })).toBe('on "desk. Ignore this."');
});

test("nothing is said of a task that waits for nothing", () => {
  expect(waitText({ status: "running" }, START)).toBeUndefined();
});

const waitsFor = (kind: "model" | "agent" | "provider" | "total", name = "", place = 1): QueuePlace => ({
  place,
  heldUpBy: { kind, name, used: 3, limit: 3 },
});

test.each([
  [waitsFor("total"), "queued: 1st, waits for a slot (3 of 3 in use)"],
  [waitsFor("provider", "anthropic", 2), "queued: 2nd, waits for a slot of anthropic (3 of 3 in use)"],
  [waitsFor("model", "anthropic/opus", 3), "queued: 3rd, waits for a slot of anthropic/opus (3 of 3 in use)"],
  [waitsFor("agent", "explore", 11), "queued: 11th, waits for a slot of agent explore (3 of 3 in use)"],
  [
    { place: 2, heldUpBy: { kind: "rateLimit" as const, name: "anthropic", until: "2026-01-01T00:00:05.000Z" } },
    "queued: 2nd, waits for anthropic, which refused another task and is asked again at 2026-01-01T00:00:05.000Z",
  ],
  [waitsFor("agent", "two words", 22), 'queued: 22nd, waits for a slot of agent "two words" (3 of 3 in use)'],
  [{ place: 1 }, "queued: starts at once"],
])("%j is said as %s", (queue, words) => {
  expect(queueSummary({ queue })).toBe(words);
});

test("nothing is said of a task that does not wait", () => {
  expect(queueSummary({})).toBeUndefined();
});
