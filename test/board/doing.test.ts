import { expect, test } from "vitest";
import { nowDoing, whoWorks } from "../../board/doing.ts";
import { toListed } from "../../board/listed-task.ts";
import { markOf, statusText } from "../../board/mark.ts";
import type { ApiTask } from "../../src/services/http/contract/api-task.ts";
import { createFakeSource } from "../fakes/status-source.ts";
import { createVirtualClock } from "../fakes/virtual-clock.ts";

const SINCE = "2026-01-01T00:00:00.000Z";
const DESK = { id: "srv_1", label: "desk" };

const listed = (given: Partial<ApiTask>) =>
  toListed(createFakeSource(createVirtualClock()).launch({ agent: "explore", ...given }));

test("a task on another server names it, and what is waited for there", () => {
  const task = listed({ server: DESK });
  expect(whoWorks(task)).toBe("explore on desk");
  expect(nowDoing(task)).toBe("Waits for its agent, which is at work on server desk");
  expect(statusText(task)).toBe("Running");
});

test("a task on another server says what it did last, once that is known", () => {
  const { progress } = createFakeSource(createVirtualClock()).launch({});
  const task = listed({ server: DESK, state: "running.fleet.claimed", progress: { ...progress, lastTools: ["read"] } });
  expect(nowDoing(task)).toBe("Last used read");
});

test("a task that waits for a server is queued, and names none", () => {
  const task = listed({ server: DESK, waiting: { for: "server", since: SINCE } });
  expect(markOf(task)).toBe("queued");
  expect(whoWorks(task)).toBe("explore");
  expect(nowDoing(task)).toMatch(/^Waits for a free server of the fleet; if none begins it, it runs here /);
});

test("a task that runs here says what its agent does", () => {
  const task = listed({});
  expect(whoWorks(task)).toBe("explore");
  expect(nowDoing(task)).toBe("Thinks");
});
