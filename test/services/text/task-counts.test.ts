import { expect, test } from "vitest";
import { toListed } from "../../../board/listed-task.ts";
import { arrange } from "../../../board/rows.ts";
import { createStatusApiClient } from "../../../src/client/status-api-client.ts";
import { countTasks, countWords, requestsIn, waitsForYou } from "../../../src/services/text/task-counts.ts";
import { plain } from "../../../src/tui/model/line.ts";
import { countSegments, summarize } from "../../../src/tui/model/panel-lines.ts";
import type { OpenUserRequest } from "../../../src/user-request.ts";
import { commandHere } from "../../cli/command-line.ts";
import { serve } from "../http/served.ts";

const since = new Date(0).toISOString();
const permission = (id: string): OpenUserRequest => ({ id, kind: "permission", what: "bash: make", since });

/** How some of them stand that have neither ended nor are at work, by their place. */
const STANDING: Readonly<Record<number, object>> = {
  ...{ 9: { state: "running.queued" }, 10: { state: "running.queued" } },
  12: { waiting: { for: "continue", since } },
};

/** 40 tasks in three folders, some below others, at depth 3. */
const scene = async () => {
  const served = await serve();
  const { source } = served;
  const folders = ["/shop", "/blog", "/tools"];
  for (let index = 0; index < 40; index += 1) {
    const sessionID = `ses_${String(index).padStart(4, "0")}`;
    const parent = index % 3 === 0 ? undefined : `ses_${String(index - 1).padStart(4, "0")}`;
    source.launch({
      ...{ sessionID, directory: folders[Math.floor(index / 14)] ?? "/shop", startedAt: new Date(index).toISOString() },
      ...(parent === undefined ? {} : { parentTaskId: parent, parentSessionID: parent }),
      ...STANDING[index],
    });
  }
  const id = (index: number) => `ses_${String(index).padStart(4, "0")}`;
  // The agent at depth 3 asks twice, which holds up both tasks above it; another one asks once.
  const requests = [permission("per_1"), permission("per_2")];
  for (const index of [3, 4, 5])
    source.change(id(index), { attention: { ...requests[0], kind: "permission", what: "x", since, requests } });
  const own = permission("per_3");
  source.change(id(6), { attention: { kind: "permission", what: "x", since, requests: [own] } });
  for (const index of [20, 21, 22, 23]) source.end(id(index), "error");
  for (const index of [30, 31]) source.end(id(index), "cancelled");
  for (const index of [33, 34, 35, 36, 37]) source.end(id(index));
  return served;
};

test("panel, board, command and API count the same tasks alike, and each request once", async () => {
  const served = await scene();
  const client = createStatusApiClient(served.folder);
  const listed = await client.allTasks({});
  const stats = await client.stats();
  if (!listed.ok || !stats.ok) throw new Error("the API does not answer");
  const tasks = listed.value;
  expect(tasks).toHaveLength(40);

  const counts = countTasks(tasks);
  expect(counts).toEqual({
    ...{ requests: 3, asking: 2, running: 24, queued: 2, paused: 1 },
    ...{ completed: 5, failed: 4, cancelled: 2 },
  });
  const words = countWords(counts).map(({ text }) => text);
  expect(words.slice(0, 5)).toEqual(["24 running", "3 wait for you", "4 failed", "2 queued", "1 paused"]);

  expect(plain({ segments: countSegments(summarize(tasks)) })).toBe(words.slice(0, 5).join(" · "));
  const command = await commandHere(["list", "--limit", "100", "--data", served.folder]);
  expect(command.out).toContain(words.join(" · "));
  expect(command.out.match(/asks permission for/g)).toHaveLength(3);

  const conversations = arrange(tasks.map(toListed), new Set()).flatMap((row) =>
    row.kind === "conversation" ? row.counts : [],
  );
  const sumOf = (name: "waiting" | "failed" | "active" | "total") =>
    conversations.reduce((sum, one) => sum + one[name], 0);
  const active = counts.running + counts.asking + counts.queued + counts.paused;
  expect([sumOf("waiting"), sumOf("failed"), sumOf("active"), sumOf("total")]).toEqual([3, 4, active, 40]);

  const { byStatus, totalTasks, activeTasks } = stats.value;
  expect([byStatus.completed, byStatus.error, byStatus.cancelled, activeTasks, totalTasks]).toEqual([
    ...[counts.completed, counts.failed, counts.cancelled, active, 40],
  ]);
});

test("a request is that of the task whose agent asks, and not asked any more once that has ended", async () => {
  const served = await scene();
  const listed = await createStatusApiClient(served.folder).allTasks({});
  if (!listed.ok) throw new Error(listed.reason);
  expect(requestsIn(listed.value).map(({ task, request }) => [task.sessionID, request.id])).toEqual([
    ["ses_0006", "per_3"],
    ["ses_0005", "per_1"],
    ["ses_0005", "per_2"],
  ]);
  expect([waitsForYou(1), waitsForYou(2)]).toEqual(["1 waits for you", "2 wait for you"]);
});
