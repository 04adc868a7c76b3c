import { expect, test } from "vitest";
import { queueSummary } from "../../../src/services/text/task-state.ts";
import type { QueuePlace } from "../../../src/task.ts";

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
