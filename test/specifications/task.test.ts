import { expect } from "vitest";
import { PARENT } from "../fakes/stage.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { ALL, scenario } from "./scenario.ts";

const CREATION = "Background Task Creation";

scenario(ALL, CREATION, "Launch background task", async (stage) => {
  const answer = await stage.callWhole(
    "task",
    { description: "count files", prompt: "Count the files.", agent: "general" },
    { messageID: "msg_launching", agent: "plan" },
  );
  const id = String(answer.metadata?.sessionId);
  expect(answer.output).toContain(id);
  expect(stage.task(id)).toMatchObject({
    sessionID: id,
    status: "running",
    description: "count files",
    prompt: "Count the files.",
    agent: "general",
    parentSessionID: PARENT,
    parentMessageID: "msg_launching",
    parentAgent: "plan",
    isForked: false,
  });
  const other = await stage.launch();
  expect(other).not.toBe(id);
});

const STATUS = "Task Status Management";

scenario(ALL, STATUS, "Track task completion", async (stage) => {
  const id = await stage.launch();
  await stage.clock.advance(3_000);
  const finishedAt = new Date(stage.clock.now()).toISOString();
  stage.host.finish(id, "Found it in a.ts.");
  await settled();
  expect(stage.task(id)).toMatchObject({
    status: "completed",
    completedAt: finishedAt,
    result: "Found it in a.ts.",
  });
});

scenario(ALL, STATUS, "Handle task errors", async (stage) => {
  const id = await stage.launch();
  stage.host.fail(id, { name: "APIError", message: "invalid api key" });
  await settled();
  expect(stage.task(id)).toMatchObject({
    status: "error",
    error: { name: "APIError", kind: "provider", message: "invalid api key" },
    failureReason: "invalid api key",
  });
  await stage.clock.advance(3_600_000);
  expect(await stage.call("output", { task_id: id })).toContain("APIError: invalid api key");
});

scenario(ALL, STATUS, "Cancel running tasks", async (stage) => {
  const id = await stage.launch();
  expect(stage.host.at(id).busy).toBe(true);
  expect(await stage.call("cancel", { task_id: id })).toContain("is cancelled");
  expect(stage.task(id).status).toBe("cancelled");
  expect(stage.host.at(id).busy).toBe(false);
});

const RETRIEVAL = "Task Result Retrieval";

scenario(ALL, RETRIEVAL, "Retrieve completed task results", async (stage) => {
  const id = await stage.launch();
  stage.host.finish(id, "Found it in a.ts.");
  await stage.clock.advance(10_000);
  expect(stage.task(id).resultRetrievedAt).toBeUndefined();
  const retrievedAt = new Date(stage.clock.now()).toISOString();
  const answer = await stage.call("output", { task_id: id });
  expect(answer).toContain("Found it in a.ts.");
  expect(answer).toContain("completed");
  expect(stage.task(id).resultRetrievedAt).toBe(retrievedAt);
});

scenario(ALL, RETRIEVAL, "Check running task status", async (stage) => {
  const id = await stage.launch();
  for (const [callID, tool] of [
    ["c1", "read"],
    ["c2", "grep"],
    ["c3", "read"],
  ] as const) {
    stage.host.emit({ type: "toolCall", sessionID: id, callID, tool, stage: "begun" });
    stage.host.emit({ type: "toolCall", sessionID: id, callID, tool, stage: "stored" });
  }
  const answer = await stage.call("output", { task_id: id });
  expect(answer).toContain("Status: running");
  expect(answer).toContain("Tool calls: 3 (read 2, grep 1); last: read, grep, read");
  expect(answer).toContain("Last activity: 0ms ago");
  expect(stage.task(id).resultRetrievedAt).toBeUndefined();
});

scenario(ALL, RETRIEVAL, "Task persistence", async (stage) => {
  const kept = await stage.launch();
  const cleared = await stage.launch();
  stage.host.finish(kept, "kept");
  stage.host.finish(cleared, "cleared");
  await stage.clock.advance(3_600_000);
  await stage.clock.sleep(23 * 3_600_000);
  expect(await stage.call("output", { task_id: kept })).toContain("kept");
  await stage.call("clear", { task_id: cleared });
  expect(stage.engine.get(cleared)).toBeUndefined();
  expect(stage.engine.get(kept)?.status).toBe("completed");
  stage.host.delete(PARENT);
  await settled();
  expect(stage.engine.get(kept)).toBeUndefined();
});

scenario(ALL, "Batch Task Management", "Group related tasks", async (stage) => {
  const first = await stage.launch({}, { messageID: "msg_one" });
  const second = await stage.launch({}, { messageID: "msg_one" });
  const other = await stage.launch({}, { messageID: "msg_two" });
  const { batchId } = stage.task(first);
  expect(stage.task(second).batchId).toBe(batchId);
  expect(stage.task(other).batchId).not.toBe(batchId);
  await stage.call("cancel", { batch_id: batchId });
  expect([first, second, other].map((id) => stage.task(id).status)).toEqual(["cancelled", "cancelled", "running"]);
});

scenario(ALL, "Resume Count Tracking", "Initial resume count", async (stage) => {
  expect(stage.task(await stage.launch()).resumeCount).toBe(0);
});

const DETECTION = "Event-Based Completion Detection";

scenario(ALL, DETECTION, "Detect completion via event", async (stage) => {
  const id = await stage.launch();
  stage.host.finish(id, "Found it in a.ts.");
  await settled();
  expect(stage.task(id).status).toBe("completed");
  expect(stage.notices().map((parts) => parts.map(({ text }) => text).join("\n"))).toEqual([
    expect.stringContaining("Found it in a.ts."),
  ]);
});

scenario(ALL, DETECTION, "Fallback to polling", async (stage) => {
  const id = await stage.launch();
  stage.host.listen(() => undefined);
  stage.host.finish(id, "Found it in a.ts.");
  await stage.clock.advance(4_999);
  expect(stage.task(id).status).toBe("running");
  await stage.clock.advance(1);
  expect(stage.task(id).status).toBe("completed");
  expect(
    stage
      .notices()[0]
      ?.map(({ text }) => text)
      .join("\n"),
  ).toContain("Found it in a.ts.");
});

scenario(ALL, "Task Progress Tracking", "Monitor task progress", async (stage) => {
  const id = await stage.launch();
  await stage.clock.advance(3_000);
  const heardAt = new Date(stage.clock.now()).toISOString();
  stage.host.emit({ type: "toolCall", sessionID: id, callID: "c1", tool: "read", stage: "stored" });
  await stage.clock.advance(1_000);
  expect(stage.task(id).progress).toMatchObject({ toolCalls: 1, lastTools: ["read"], lastUpdate: heardAt });
  const answer = await stage.call("output", { task_id: id });
  expect(answer).toContain("Tool calls: 1 (read 1); last: read");
  expect(answer).toContain("Last activity: 1s ago");
});

const LISTING = "Task List Parent Session Filtering";

scenario(ALL, LISTING, "Filter by parent session", async (stage) => {
  stage.host.addSession("ses_other");
  const mine = await stage.launch({ description: "mine" });
  const theirs = await stage.launch({ description: "theirs" }, { sessionID: "ses_other" });
  const list = await stage.call("list");
  expect(list).toContain(mine);
  expect(list).not.toContain(theirs);
  expect(await stage.call("list", {}, { sessionID: "ses_other" })).not.toContain(mine);
});

scenario(ALL, LISTING, "Empty list for no children", async (stage) => {
  stage.host.addSession("ses_other");
  await stage.launch({}, { sessionID: "ses_other" });
  expect(await stage.call("list")).toBe("No background tasks found");
});

scenario(ALL, "Task List Resume Indicator", "No indicator for new tasks", async (stage) => {
  const id = await stage.launch();
  const list = await stage.call("list");
  expect(list).toContain(id);
  expect(list).not.toMatch(/\((resumed|forked)\)/);
});
