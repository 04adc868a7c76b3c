import { expect, test } from "vitest";
import { stageWithTask } from "../../../fakes/stage.ts";

test("the last words of a run are its agent's, and not the summary of a conversation that was compacted", async () => {
  const { stage, id } = await stageWithTask();
  const session = stage.host.at(id);
  session.messages = session.messages.map((message) =>
    message.role === "assistant" ? { ...message, text: "So far I have counted 7." } : message,
  );
  stage.host.compact(id);
  expect(stage.host.at(id).messages.some(({ isSummary, text }) => isSummary && text !== "")).toBe(true);
  expect(await stage.engine.lastWords(id)).toBe("So far I have counted 7.");
});
