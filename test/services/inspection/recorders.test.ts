import type { StatelyInspectionEvent } from "@statelyai/inspect";
import { expect, test } from "vitest";
import { MAX_STEPS } from "../../../src/services/inspection/protocol.ts";
import { createStatelyRecorder } from "../../../src/services/inspection/recorders.ts";
import { createStage } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";
import { createRecordingLog } from "../store/folder-and-log.ts";

const recorded = async () => {
  // Loaded before, the package is there as soon as a recording asks for it.
  await import("../../../src/services/inspection/stately-adapter.ts");
  const stately = createStatelyRecorder();
  const recording = stately.record(createRecordingLog());
  const stage = createStage({ inspect: recording.inspect });
  // The package sends each message in a timer of 0 ms.
  const messages = async (after = 0) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return stately.since(after).messages;
  };
  return { stately, recording, stage, messages };
};

const of = <Type extends StatelyInspectionEvent["type"]>(messages: StatelyInspectionEvent[], type: Type) =>
  messages.filter((message): message is Extract<StatelyInspectionEvent, { type: Type }> => message.type === type);

test("each actor is introduced with its whole chart, at full depth", async () => {
  const { stage, messages } = await recorded();
  const id = await stage.launch();
  const actors = of(await messages(), "@xstate.actor");
  expect(actors.map(({ name }) => name)).toEqual(["supervisor", "outbox:ses_parent", id]);
  const { states } = JSON.parse(actors[2]?.definition ?? "");
  expect(states.run.states.stopping.states.aborting.on.STOPPED).toContainEqual(
    expect.objectContaining({
      target: "#idle",
      actions: expect.arrayContaining(["recordEnd"]),
    }),
  );
  expect(actors[2]?.parentId).toBe(actors[0]?.sessionId);
});

test("a page that opens late gets each living actor's current state, and its events", async () => {
  const { stage, messages } = await recorded();
  const done = await stage.complete("There are 12.");
  await stage.clock.advance(1_000);
  const id = await stage.launch();
  const all = await messages();
  const actors = of(all, "@xstate.actor");
  expect(actors.map(({ name }) => name)).toContain(id);
  expect(actors.map(({ name }) => name)).not.toContain(done);
  const task = actors.find(({ name }) => name === id);
  expect(task?.snapshot).toMatchObject({
    status: "active",
    value: { lifecycle: "running", run: { active: { working: "busy" } } },
  });
  const its = all.filter(({ sessionId }) => sessionId === task?.sessionId);
  expect(of(its, "@xstate.event").map(({ event }) => event.type)).toEqual([
    "xstate.init",
    "SLOT_GRANTED",
    "PROMPT_ACCEPTED",
  ]);
});

test("later messages follow the last one that was read; only the newest are kept", async () => {
  const { stately, stage, messages } = await recorded();
  const id = await stage.launch();
  await messages();
  const { upTo } = stately.since(0);
  stage.host.emit({ type: "idle", sessionID: id });
  expect(of(await messages(upTo), "@xstate.event").map(({ event }) => event.type)).toContain("HOST_IDLE");
  for (let count = 0; count < MAX_STEPS; count += 1) {
    stage.host.emit({ type: "replied", sessionID: id, requestID: "per_none" });
  }
  expect((await messages(upTo)).length).toBe(MAX_STEPS);
});

test("no text of a conversation is sent: contexts and payloads of events are left out", async () => {
  const { stage, messages } = await recorded();
  const id = await stage.launch({ description: "secret-description", prompt: "secret-prompt" });
  stage.host.emit({
    type: "asked",
    sessionID: id,
    request: { id: "que_1", kind: "question", what: "secret-question", since: 1 },
  });
  stage.host.finish(id, "secret-result");
  await settled();
  const [first] = await messages();
  const shown = JSON.stringify([first, ...(await messages(1))]);
  expect(shown).toContain("CHECKED_ANSWERED");
  expect(shown).toContain("REQUEST_ASKED");
  expect(shown).not.toContain("secret");
});

test("once the directory is closed, nothing is kept", async () => {
  const { stately, recording, stage, messages } = await recorded();
  await stage.launch();
  stage.engine.stop();
  recording.end();
  expect(stately.isOn()).toBe(false);
  expect(await messages()).toEqual([]);
});

test("once one of two directories is closed, its actors are no longer introduced, and those of the other are", async () => {
  const { stately, recording, stage, messages } = await recorded();
  const other = stately.record(createRecordingLog());
  const otherStage = createStage({ inspect: other.inspect });
  await stage.launch();
  await otherStage.launch();
  const introduced = async () => of(await messages(), "@xstate.actor").map(({ name }) => name);
  expect(await introduced()).toHaveLength(6);
  stage.engine.stop();
  recording.end();
  expect(await introduced()).toHaveLength(3);
});
