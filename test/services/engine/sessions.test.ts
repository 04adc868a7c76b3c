import { expect, test } from "vitest";
import { type OpencodeEvent, readEvent } from "../../../src/services/host/opencode-events.ts";
import { createStage, PARENT, type Stage, stageWithTask } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

/** An event just as OpenCode publishes it, through the same reader that the plugin uses. */
const publish = (stage: Stage, event: { type: string; properties: unknown }) => {
  const told = readEvent({ id: "evt_1", ...event } as OpencodeEvent, stage.clock.now());
  if (told) stage.engine.onHostEvent(told);
};

test("a new session, our own included, leaves running tasks alone", async () => {
  const stage = createStage();
  const first = await stage.launch();
  const time = { created: 0, updated: 0 };
  const created = { info: { id: "ses_new", parentID: PARENT, time }, sessionID: "ses_new" };
  publish(stage, { type: "session.created", properties: created });
  const second = await stage.launch();
  const ours = { info: { id: second, parentID: PARENT, time }, sessionID: second };
  publish(stage, { type: "session.created", properties: ours });
  await settled();
  expect([first, second].map((id) => stage.task(id).status)).toEqual(["running", "running"]);
  expect(stage.host.calls).not.toContain("abort");
});

test("switching the session, clearing the prompt and Esc forget no task", async () => {
  const { stage, id } = await stageWithTask();
  publish(stage, { type: "tui.session.select", properties: { sessionID: "ses_other" } });
  publish(stage, { type: "tui.command.execute", properties: { command: "prompt.clear" } });
  stage.host.abortByPerson(PARENT);
  await settled();
  expect(stage.task(id).status).toBe("running");
  stage.host.finish(id, "done");
  await stage.clock.advance(1_000);
  expect(stage.notices()).toHaveLength(1);
});

test("deleting one parent clears its tasks and nobody else's", async () => {
  const stage = createStage();
  stage.host.addSession("ses_other");
  const running = await stage.launch();
  const ended = await stage.launch();
  stage.host.finish(ended, "done");
  const theirs = await stage.launch({}, { sessionID: "ses_other" });
  stage.host.delete(PARENT);
  await settled();
  expect(stage.engine.get(running)).toBeUndefined();
  expect(stage.engine.get(ended)).toBeUndefined();
  expect(stage.host.at(running).busy).toBe(false);
  expect(stage.task(theirs).status).toBe("running");
});
