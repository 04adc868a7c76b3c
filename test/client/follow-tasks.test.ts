import { expect, test } from "vitest";
import type { ApiTask } from "../../src/client/api-types.ts";
import { afterEvent, NO_TASKS } from "../../src/client/follow-tasks.ts";

const task = (sessionID: string, status = "running") => ({ sessionID, status }) as ApiTask;
const server = { port: 1, pid: 2, startedAt: "2026-11-23T00:00:00.000Z", version: "1.0.0" };
const failure = { ok: false, kind: "notRunning", reason: "gone" } as const;

test("a snapshot replaces what was known, and a lost connection keeps it", () => {
  const first = afterEvent(NO_TASKS, { type: "snapshot", tasks: [task("a"), task("b")], server });
  const changed = afterEvent(first, { type: "task", change: "error", task: task("a", "error") });
  const removed = afterEvent(changed, { type: "removed", sessionID: "b" });
  const lost = afterEvent(removed, { type: "lost", failure, retryMs: 1 });
  expect(first.tasks.get("a")?.status).toBe("running");
  expect([...lost.tasks.values()]).toEqual([task("a", "error")]);
  expect(lost.lost).toBe(failure);
  expect(afterEvent(lost, { type: "snapshot", tasks: [task("c")], server })).toEqual({
    tasks: new Map([["c", task("c")]]),
    server,
  });
});
