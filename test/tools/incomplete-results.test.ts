import { expect, test } from "vitest";
import { resultOf } from "../../src/tools/elisha/elisha-toolset.ts";
import { endedResult, isEnded } from "../../src/tools/subtasks/subtasks-toolset.ts";
import { stageWithTask } from "../fakes/stage.ts";
import { settled } from "../fakes/virtual-clock.ts";

/** A task whose last message has these words, and ended like that. */
const ended = async (finish: string, text: string) => {
  const { stage, id } = await stageWithTask();
  stage.host.step(id, { finish: "tool-calls", tools: "called", text: "I look." });
  stage.host.step(id, { finish, text });
  stage.host.emit({ type: "idle", sessionID: id });
  stage.host.at(id).busy = false;
  stage.host.at(id).messages.pop();
  await stage.clock.advance(60_000);
  await settled();
  return stage.task(id);
};

test.each([
  ["length", "One, tw", /^The result is cut: the model reached the limit of its output/],
  ["stop", "", /^The agent's last message has no text\. Before it, which is not its result, it wrote: "I look\."\.$/],
])("what a result lacks that ended with %s is said by the toolsets with fixed fields", async (finish, text, lacks) => {
  const task = await ended(finish, text);
  expect(resultOf(task)).toMatchObject({ status: "completed", result: text, error: expect.stringMatching(lacks) });
  expect(resultOf(task)).not.toHaveProperty("code");
  if (!isEnded(task)) throw new Error("it has not ended");
  const subtask = await endedResult(task, { lastWords: async () => undefined } as never);
  expect(subtask).toMatchObject({
    subTaskStatus: "Success",
    finalAssistantMessage: text,
    failureReason: expect.stringMatching(lacks),
  });
});

test("of a whole result, nothing is said", async () => {
  const task = await ended("stop", "All of it.");
  expect(resultOf(task)).toMatchObject({ result: "All of it." });
  expect(resultOf(task)).not.toHaveProperty("error");
});
