import { describe, expect, onTestFinished, test } from "vitest";
import { createReadDirectories } from "../../../../src/services/host/directories.ts";
import type { ClientConnection } from "../../../../src/services/http/access/request-handling.ts";
import { createEngineSource } from "../../../../src/services/http/engine-source.ts";
import { createBytesInFlight, MAX_BYTES_IN_FLIGHT } from "../../../../src/services/http/events/sse-stream.ts";
import { createTaskFeed } from "../../../../src/services/http/events/task-feed.ts";
import { createOpenDirectories } from "../../../../src/services/http/status-api.ts";
import { createDurableStage } from "../../../fakes/durable-stage.ts";
import { createStage, type Stage } from "../../../fakes/stage.ts";
import { settled } from "../../../fakes/virtual-clock.ts";

const SEQUENCE = "subagents-and-subtasks › Sequence (Child Enters UIP / awaiting_user)";
const UIP = "subagents-and-subtasks › UIP Semantics (Critical Requirement)";

const REQUESTED = "UserInteractionRequested";
const RESPONDED = "UserInteractionResponded";

const connection: ClientConnection = {
  abort: () => undefined,
  disableTimeout: () => undefined,
  unsentBytes: () => 0,
  maxStreamBytes: undefined,
  endpoints: undefined,
};

/** Slightly longer than changes are gathered, and than other processes' changes are looked for. */
const MOMENT = 20;
const POLL = 1_100;

/** The stream of the API over the engine of a stage. */
const streamOf = (stage: Stage) => {
  const directories = createOpenDirectories();
  directories.add(stage);
  const source = createEngineSource(
    directories,
    stage.clock,
    () => "cmd_1",
    "/nowhere",
    createReadDirectories(stage.clock),
  );
  const log = { info: () => undefined, error: (message: string) => expect.fail(message) };
  const bytesInFlight = createBytesInFlight(MAX_BYTES_IN_FLIGHT);
  const feed = createTaskFeed(source, { clock: stage.clock, log, bytesInFlight });
  onTestFinished(feed.stop);
  /** Returns a reader of the events about requests that have come since it was asked last. */
  const subscribe = () => {
    const reader = feed.subscribe(connection)?.getReader();
    if (!reader) throw new Error("there is no stream");
    let text = "";
    const decoder = new TextDecoder();
    void (async () => {
      for (let part = await reader.read(); !part.done; part = await reader.read()) text += decoder.decode(part.value);
    })();
    return async (wait = MOMENT) => {
      await stage.clock.advance(wait);
      await settled();
      const events = text.split("\n\n").flatMap((frame) => {
        const [, name = "", data = ""] = /event: (\S+)\ndata: (.+)/.exec(frame) ?? [];
        return name.startsWith("UserInteraction") ? [{ [name]: JSON.parse(data) }] : [];
      });
      text = "";
      return events;
    };
  };
  return { subscribe, source };
};

const subtask = async (stage: Stage, caller = {}) => {
  const before = new Set(stage.host.sessionIDs());
  stage
    .call("create_subtask_general", { title: "count files" }, { callID: "call_1", ...caller })
    .catch(() => undefined);
  await settled();
  return stage.host.sessionIDs().find((id) => !before.has(id)) ?? "";
};

const subtasks = () => createStage({ toolsets: ["subtasks"] });

test(`${SEQUENCE} › the stream has ${REQUESTED} when a child asks, and ${RESPONDED} when it is answered`, async () => {
  const stage = subtasks();
  const events = streamOf(stage).subscribe();
  const child = await subtask(stage);
  expect(await events()).toEqual([]);
  const since = new Date(stage.clock.now()).toISOString();
  await stage.ask(child, "bash: rm -rf dist");
  expect(await events()).toEqual([
    {
      [REQUESTED]: { sessionID: child, request: { id: "per_1", kind: "permission", what: "bash: rm -rf dist", since } },
    },
  ]);
  expect(await events(60_000)).toEqual([]);
  stage.reply(child);
  expect(await events()).toEqual([{ [RESPONDED]: { sessionID: child, requestId: "per_1", became: "answered" } }]);
  expect(await events(60_000)).toEqual([]);
});

test(`${UIP} › of a grandchild's request, both events name the grandchild alone, though those above it wait, too`, async () => {
  const stage = createStage({ toolsets: ["subtasks"] });
  const events = streamOf(stage).subscribe();
  const child = await subtask(stage);
  const grandchild = await subtask(stage, { sessionID: child, callID: "call_2" });
  await stage.ask(grandchild);
  expect(stage.task(child).attention?.requests).toHaveLength(1);
  expect(await events()).toEqual([{ [REQUESTED]: expect.objectContaining({ sessionID: grandchild }) }]);
  stage.reply(grandchild);
  expect(await events()).toEqual([{ [RESPONDED]: { sessionID: grandchild, requestId: "per_1", became: "answered" } }]);
});

test("a request whose task is fails is rejected, which is an answer", async () => {
  const stage = subtasks();
  const events = streamOf(stage).subscribe();
  const child = await subtask(stage);
  await stage.ask(child);
  await events();
  stage.host.fail(child, { name: "APIError", message: "overloaded" });
  expect(await events(1_000)).toEqual([{ [RESPONDED]: { sessionID: child, requestId: "per_1", became: "answered" } }]);
});

describe("a request that nobody answers is closed", () => {
  test("when the process ends that waits for the answer", async () => {
    const stage = createDurableStage({ toolsets: ["subtasks"] });
    const child = await subtask(stage);
    await stage.ask(child);
    await stage.restart();
    const events = streamOf(stage).subscribe();
    expect(await events(POLL)).toEqual([{ [RESPONDED]: { sessionID: child, requestId: "per_1", became: "closed" } }]);
    expect(stage.task(child).attention).toBeUndefined();
  });

  test("when its task is cleared", async () => {
    const stage = subtasks();
    const events = streamOf(stage).subscribe();
    const child = await subtask(stage);
    await stage.ask(child);
    await events();
    await stage.engine.clear([child]);
    expect(await events(POLL)).toContainEqual({
      [RESPONDED]: { sessionID: child, requestId: "per_1", became: "closed" },
    });
  });
});

test("a reader who comes while a request is open finds it in the snapshot, and is sent its end only", async () => {
  const stage = subtasks();
  const { subscribe } = streamOf(stage);
  const child = await subtask(stage);
  await stage.ask(child);
  await stage.clock.advance(POLL);
  const events = subscribe();
  expect(await events()).toEqual([]);
  stage.reply(child);
  expect(await events()).toEqual([{ [RESPONDED]: { sessionID: child, requestId: "per_1", became: "answered" } }]);
});

test("a request that is longer than a task among others may have is sent without its questions, and says so", async () => {
  const stage = subtasks();
  const events = streamOf(stage).subscribe();
  const child = await subtask(stage);
  const question = { question: "y".repeat(20_000), options: ["a"], multiple: false, custom: false };
  const request = { id: "que_1", kind: "question" as const, what: "w".repeat(5_000), since: 5, questions: [question] };
  stage.host.emit({ type: "asked", sessionID: child, request });
  await settled();
  const what = `${"w".repeat(2_000)}…`;
  const since = new Date(5).toISOString();
  expect(await events()).toEqual([
    { [REQUESTED]: { sessionID: child, request: { id: "que_1", kind: "question", what, since }, isCut: true } },
  ]);
  expect(await events(60_000)).toEqual([]);
  stage.host.emit({ type: "replied", sessionID: child, requestID: "que_1" });
  expect(await events()).toEqual([{ [RESPONDED]: expect.objectContaining({ requestId: "que_1" }) }]);
});
