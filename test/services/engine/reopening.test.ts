import { describe, expect, test } from "vitest";
import { AT_WORK_MS, QUIT_TIMEOUT_MS } from "../../../src/services/host/directories.ts";
import { HEARTBEAT_MS } from "../../../src/services/store/ownership.ts";
import { createDurableStage, durableStageWithTask } from "../../fakes/durable-stage.ts";
import { PARENT, type Stage } from "../../fakes/stage.ts";

const promptsOf = ({ host }: Stage, id: string) => host.at(id).prompts.length;

/** As long as a quit interface takes to end, at most. */
const dying = (stage: Stage) => stage.clock.advance(QUIT_TIMEOUT_MS - 1);

describe("a directory that OpenCode closes and opens again in the same process", () => {
  test("takes nothing over while the process may be ending: no call is made, and no prompt is paid for", async () => {
    const { stage, id } = await durableStageWithTask();
    await stage.reopen();
    const before = stage.host.calls.length;
    await dying(stage);
    expect(stage.host.calls.slice(before)).toEqual([]);
    expect(promptsOf(stage, id)).toBe(1);
  });

  test.each([false, true])("goes on as soon as a session is at work there (headless: %s)", async (isHeadless) => {
    const { stage, id } = await durableStageWithTask({ isHeadless });
    await stage.reopen();
    stage.host.emit({ type: "busy", sessionID: PARENT });
    await stage.clock.advance(AT_WORK_MS);
    expect(promptsOf(stage, id)).toBe(2);
    await stage.finish(id, "12");
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
    expect(stage.notices()).toHaveLength(1);
  });

  test("goes on after a while with nobody at work: it was no quit", async () => {
    const { stage, id } = await durableStageWithTask();
    await stage.reopen();
    await stage.clock.advance(QUIT_TIMEOUT_MS);
    await expect(promptsOf(stage, id)).toBe(2);
    await stage.finish(id, "12");
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
    expect(stage.notices()).toHaveLength(1);
  });

  test("does not count as interrupted there when the process was ending", async () => {
    const { stage, id } = await durableStageWithTask();
    for (let quit = 0; quit < 2; quit += 1) {
      await stage.reopen();
      await dying(stage);
      await stage.restart();
      await stage.clock.advance(HEARTBEAT_MS);
      expect(stage.task(id).status).toBe("running");
    }
    await stage.finish(id, "12");
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
  });

  test("begins nothing that a person asks for through another process until it is known to stay", async () => {
    const { stage, id } = await durableStageWithTask();
    await stage.finish(id, "12");
    await stage.reopen();
    const command = { kind: "resume", prompt: "And now?" } as const;
    stage.store.submitCommand({ id: "req_1", taskId: id, command }, stage.clock.now());
    await dying(stage);
    expect(promptsOf(stage, id)).toBe(1);
    await stage.clock.advance(HEARTBEAT_MS);
    expect(promptsOf(stage, id)).toBe(2);
    expect(stage.task(id).status).toBe("resumed");
  });

  test("launches tasks at once, whatever it thinks of the process", async () => {
    const stage = createDurableStage();
    await stage.reopen();
    const id = await stage.launch();
    await stage.finish(id, "12");
    expect(stage.notices()).toHaveLength(1);
  });
});
