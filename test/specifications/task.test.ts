import { expect } from "vitest";
import { TASKS } from "../../scripts/requirements/specifications.ts";
import { PARENT, type Stage } from "../fakes/stage.ts";
import { settled } from "../fakes/virtual-clock.ts";
import { atOnce } from "../fakes/watched.ts";
import { scenario } from "./scenario.ts";

const CREATION = "Background Task Creation";

scenario(TASKS, CREATION, "Launch background task", async (stage) => {
  const answer = await atOnce(
    stage.callWhole(
      "task",
      { description: "count files", prompt: "Count the files.", agent: "general" },
      { messageID: "msg_launching", agent: "plan" },
    ),
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

scenario(TASKS, STATUS, "Track task completion", async (stage) => {
  const id = await stage.launch();
  await stage.clock.advance(3_000);
  const finishedAt = new Date(stage.clock.now()).toISOString();
  await stage.finish(id, "Found it in a.ts.");
  expect(stage.task(id)).toMatchObject({
    status: "completed",
    completedAt: finishedAt,
    result: "Found it in a.ts.",
  });
});

scenario(TASKS, STATUS, "Handle task errors", async (stage) => {
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

scenario(TASKS, STATUS, "Cancel running tasks", async (stage) => {
  const id = await stage.launch();
  expect(stage.host.at(id).busy).toBe(true);
  expect(await stage.call("cancel", { task_id: id })).toContain("is cancelled");
  expect(stage.task(id).status).toBe("cancelled");
  expect(stage.host.at(id).busy).toBe(false);
});

const RETRIEVAL = "Task Result Retrieval";

scenario(TASKS, RETRIEVAL, "Retrieve completed task results", async (stage) => {
  const id = await stage.launch();
  stage.host.finish(id, "Found it in a.ts.");
  await stage.clock.advance(10_000);
  expect(stage.task(id).resultRetrievedAt).toBeUndefined();
  const retrievedAt = new Date(stage.clock.now()).toISOString();
  const answer = await atOnce(stage.call("output", { task_id: id }));
  expect(answer).toContain("Found it in a.ts.");
  expect(answer).toContain("completed");
  expect(stage.task(id).resultRetrievedAt).toBe(retrievedAt);
});

scenario(TASKS, RETRIEVAL, "Check running task status", async (stage) => {
  const id = await stage.launch();
  for (const [callID, tool] of [
    ["c1", "read"],
    ["c2", "grep"],
    ["c3", "read"],
  ] as const) {
    stage.host.emit({ type: "toolCall", sessionID: id, callID, tool, stage: "begun" });
    stage.host.emit({ type: "toolCall", sessionID: id, callID, tool, stage: "stored" });
  }
  const answer = await atOnce(stage.call("output", { task_id: id }));
  expect(answer).toContain("Status: running");
  expect(answer).toContain("Tool calls: 3 (read 2, grep 1); last: read, grep, read");
  expect(answer).toContain("Last activity: 0ms ago");
  expect(stage.task(id).resultRetrievedAt).toBeUndefined();
});

scenario(TASKS, RETRIEVAL, "Task persistence", async (stage) => {
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

scenario(TASKS, "Batch Task Management", "Group related tasks", async (stage) => {
  const first = await stage.launch({}, { messageID: "msg_one" });
  const second = await stage.launch({}, { messageID: "msg_one" });
  const other = await stage.launch({}, { messageID: "msg_two" });
  const { batchId } = stage.task(first);
  expect(stage.task(second).batchId).toBe(batchId);
  expect(stage.task(other).batchId).not.toBe(batchId);
  const named = await stage.launch({ batch_id: "release" }, { messageID: "msg_one" });
  const alsoNamed = await stage.launch({ batch_id: "release" }, { messageID: "msg_two" });
  expect([named, alsoNamed].map((id) => stage.task(id).batchId)).toEqual(["release", "release"]);
  const all = [first, second, other, named, alsoNamed];
  const idsIn = (text: string) => all.filter((id) => text.includes(id));
  expect(idsIn(await stage.call("output", { batch_id: batchId }))).toEqual([first, second]);
  await stage.call("cancel", { batch_id: batchId });
  const running = all.filter((id) => stage.task(id).status === "running");
  expect(running).toEqual([other, named, alsoNamed]);
  await stage.call("clear", { batch_id: batchId });
  expect(all.filter((id) => stage.engine.get(id))).toEqual(running);
});

scenario(TASKS, "Resume Count Tracking", "Initial resume count", async (stage) => {
  expect(stage.task(await stage.launch()).resumeCount).toBe(0);
});

const DETECTION = "Event-Based Completion Detection";

/** A result of which the line that a person is shown at once is only the beginning. */
const FULL = ["Found it in a.ts.", ...Array.from({ length: 40 }, (_, line) => `It is used in line ${line}.`)].join(
  "\n",
);

/** What the parent's model reads of the result, without the marks of a quotation. */
const quotedIn = (stage: Stage): string => (stage.notices().at(-1)?.at(-1)?.text ?? "").replaceAll(/^> /gm, "");

scenario(TASKS, DETECTION, "Detect completion via event", async (stage) => {
  const id = await stage.launch();
  await stage.finish(id, FULL);
  expect(stage.task(id).status).toBe("completed");
  expect(stage.notices()).toHaveLength(1);
  expect(quotedIn(stage)).toContain(FULL);
});

const WHOLE = "Detect completion via event: with the whole result, though it is long";

scenario(TASKS, DETECTION, WHOLE, async (stage) => {
  const long = "All twelve of them pass. ".repeat(1_000).trim();
  const id = await stage.launch();
  await stage.finish(id, long);
  await stage.clock.advance(1_000);
  expect(stage.notices()).toHaveLength(1);
  expect(quotedIn(stage)).toContain(long);
  expect(quotedIn(stage)).toContain("The result below is complete; do not fetch it.");
});

scenario(TASKS, DETECTION, "Fallback to polling", async (stage) => {
  const id = await stage.launch();
  stage.host.listen(() => undefined);
  stage.host.finish(id, FULL);
  await stage.clock.advance(4_999);
  expect(stage.task(id).status).toBe("running");
  await stage.clock.advance(1);
  expect(stage.task(id).status).toBe("completed");
  expect(quotedIn(stage)).toContain(FULL);
});

scenario(TASKS, "Task Progress Tracking", "Monitor task progress", async (stage) => {
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

scenario(TASKS, LISTING, "Filter by parent session", async (stage) => {
  stage.host.addSession("ses_other");
  const mine = await stage.launch({ description: "mine" });
  const below = await stage.launch({ description: "below mine" }, { sessionID: mine });
  const theirs = await stage.launch({ description: "theirs" }, { sessionID: "ses_other" });
  const list = await stage.call("list");
  expect(list).toContain(mine);
  expect(list).not.toContain(below);
  expect(list).not.toContain(theirs);
  expect(await stage.call("list", {}, { sessionID: "ses_other" })).not.toContain(mine);
});

scenario(TASKS, LISTING, "Empty list for no children", async (stage) => {
  stage.host.addSession("ses_other");
  await stage.launch({}, { sessionID: "ses_other" });
  expect(await stage.call("list")).toBe("No background tasks found");
});

scenario(TASKS, "Task List Resume Indicator", "No indicator for new tasks", async (stage) => {
  const id = await stage.launch();
  const list = await stage.call("list");
  expect(list).toContain(id);
  expect(list).not.toMatch(/\((resumed|forked)\)/);
});
