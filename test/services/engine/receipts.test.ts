import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ToolCallEffect } from "../../../src/machines/host-events.ts";
import { replay } from "../../../src/machines/task/replay.ts";
import { loadSqlite } from "../../../src/services/store/sqlite/driver.ts";
import { openJournalReader } from "../../../src/services/store/sqlite/journal-reader.ts";
import { createDurableStage } from "../../fakes/durable-stage.ts";
import { unavailable } from "../../fakes/fake-host.ts";
import { PARENT, type Stage } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

let stage: ReturnType<typeof createDurableStage>;

beforeEach(() => {
  stage = createDurableStage();
});

afterEach(() => stage.engine.stop());

const RAN = { kind: "command", command: "npm test", exit: 1, end: "exited" } as const;
const WROTE = {
  kind: "write",
  files: [{ path: "/project/a.ts", change: "changed", added: 1, removed: 2 }],
} as const satisfies ToolCallEffect;

let calls = 0;
const toolCall = (sessionID: string, tool: string, effect?: ToolCallEffect) => {
  calls += 1;
  const call = { type: "toolCall", sessionID, callID: `call_${calls}`, tool } as const;
  stage.host.emit({ ...call, stage: "begun", input: `input ${calls}` });
  stage.host.emit({ ...call, stage: "stored", input: `input ${calls}`, ...(effect ? { effect } : {}) });
};

const finish = async (id: string, result = "All tests pass.") => {
  await stage.finish(id, result);
};

const hiddenText = () =>
  stage
    .notices()
    .at(-1)
    ?.find(({ synthetic }) => synthetic)?.text ?? "";

describe("the receipt of a run", () => {
  test("says what was observed, and stands in the notice, in the output and in the task", async () => {
    const id = await stage.launch();
    toolCall(id, "edit", WROTE);
    toolCall(id, "bash", RAN);
    await stage.clock.advance(3_000);
    await finish(id);
    expect(stage.task(id).receipt).toMatchObject({
      run: 0,
      isWhole: true,
      tools: [
        { tool: "edit", calls: 1, failed: 0 },
        { tool: "bash", calls: 1, failed: 0 },
      ],
      files: [{ path: "a.ts", change: "changed", added: 1, removed: 2 }],
      commands: [{ command: "npm test", exit: 1, end: "exited", tests: "failed" }],
      workedMs: 3_000,
      waitedMs: 0,
    });
    expect(hiddenText()).toContain('1 file written (+1 −2 lines); 1 command (1 failed); tests failed: "npm test".');
    expect(await stage.call("output", { task_id: id })).toContain('  - "npm test": exit code 1, tests failed');
  });

  test("of an agent that claims tests and called no tool says so", async () => {
    const id = await stage.launch();
    await finish(id, "I ran all tests. They pass.");
    expect(hiddenText()).toContain("\nObserved: no tool was called.\n");
    expect(await stage.call("output", { task_id: id })).toContain("  No tool was called.\n");
  });

  test("is in the transaction of the end, and the journal replays to it", async () => {
    const id = await stage.launch();
    toolCall(id, "bash", RAN);
    await finish(id);
    const journals = openJournalReader(stage.disk.path, loadSqlite({ readonly: true }));
    const { origin, events = [], snapshot } = journals.journal(id) ?? {};
    journals.close();
    const written = snapshot?.context.receipt;
    expect(written?.commands).toHaveLength(1);
    expect(origin && replay(origin, events).snapshot.context.receipt).toEqual(written);
  });

  test("is of the newest run alone: a resumed task has none until it ends again", async () => {
    const id = await stage.complete("12");
    await settled();
    await stage.call("task", { resume: id, prompt: "And now?" });
    await settled();
    expect(stage.task(id).receipt).toBeUndefined();
    toolCall(id, "read");
    await finish(id);
    expect(stage.task(id).receipt).toMatchObject({ run: 1, tools: [{ tool: "read", calls: 1 }] });
  });

  test("counts what sessions below the task did that are no tasks", async () => {
    const id = await stage.launch();
    stage.host.addSession("ses_below", { parentID: id });
    stage.host.emit({
      type: "session",
      sessionID: "ses_below",
      session: { ...stage.host.at("ses_below"), parentID: id },
      isNew: true,
    });
    toolCall("ses_below", "bash", RAN);
    await finish(id);
    expect(stage.task(id).receipt?.commands).toHaveLength(1);
  });

  test("tells files that changed meanwhile apart from those that its tools wrote", async () => {
    const id = await stage.launch();
    toolCall(id, "edit", WROTE);
    stage.host.emit({
      type: "filesChanged",
      sessionID: id,
      partID: "prt_1",
      files: ["/project/a.ts", "/project/b.ts"],
    });
    await finish(id);
    expect(stage.task(id).receipt).toMatchObject({ files: [{ path: "a.ts" }], otherFiles: ["b.ts"] });
  });
});

describe("after a crash", () => {
  test("a run that goes on has what it did before, too, read once from OpenCode", async () => {
    const id = await stage.launch();
    toolCall(id, "bash", RAN);
    await stage.restart();
    await stage.clock.advance(1_000);
    toolCall(id, "edit", WROTE);
    await finish(id);
    await stage.clock.advance(1_000);
    expect(stage.task(id)).toMatchObject({ status: "completed" });
    expect(stage.task(id).receipt).toMatchObject({
      isWhole: true,
      tools: [
        { tool: "bash", calls: 1 },
        { tool: "edit", calls: 1 },
      ],
    });
    expect(stage.host.calls.filter((call) => call === "runEvents")).toHaveLength(1);
    expect(hiddenText()).toContain("2 tool calls: bash 1, edit 1;");
  });

  test("a run that was answered meanwhile has its receipt with its end", async () => {
    const id = await stage.launch();
    toolCall(id, "bash", RAN);
    stage.life.die();
    stage.host.finish(id, "12");
    await stage.restart();
    await stage.clock.advance(1_000);
    expect(stage.task(id)).toMatchObject({ status: "completed", receipt: { isWhole: true, commands: [RAN_SHOWN] } });
    expect(hiddenText()).toContain("Observed: 1 tool call: bash 1;");
  });

  test.each([
    ["a host that does not say what the run did", ({ host }: Stage) => host.failNext("runEvents", unavailable, 5)],
    [
      "a fault while that is read",
      ({ host }: Stage) => {
        for (let time = 0; time < 5; time += 1) host.throwNext("runEvents", "a fault");
      },
    ],
  ])("%s leaves a receipt of what was seen, which says that", async (_, fail) => {
    const id = await stage.launch();
    toolCall(id, "bash", RAN);
    await stage.restart();
    fail(stage);
    await stage.clock.advance(1_000);
    toolCall(id, "read");
    await finish(id);
    await stage.clock.advance(1_000);
    expect(stage.task(id).receipt).toMatchObject({ isWhole: false, tools: [{ tool: "read", calls: 1 }] });
    expect(stage.notices(PARENT)).toHaveLength(1);
  });

  /** A run that was taken over ends before the host has said what it did in the process before. */
  const endUnread = async (cancel: (id: string) => Promise<unknown>) => {
    const id = await stage.launch();
    toolCall(id, "bash", RAN);
    await stage.restart();
    const held = stage.host.holdNext("runEvents");
    await stage.clock.advance(1_000);
    await cancel(id);
    await stage.clock.advance(2_000);
    expect(stage.task(id).status).toBe("cancelled");
    expect(stage.task(id).receipt).toBeUndefined();
    return { id, held };
  };

  test("a receipt that comes after the end is kept, though the task is at rest by then", async () => {
    const { id, held } = await endUnread((task) => stage.call("cancel", { task_id: task }));
    held.release();
    await settled();
    expect(stage.task(id).receipt).toMatchObject({ isWhole: true, commands: [RAN_SHOWN] });
  });

  test("an end that is owed, and has no receipt yet, gets it from the next process", async () => {
    const { id } = await endUnread((task) => {
      stage.host.holdNext("prompt");
      return stage.engine.cancel([task]);
    });
    await stage.restart();
    await stage.clock.advance(1_000);
    expect(stage.task(id).receipt).toMatchObject({ isWhole: true, commands: [RAN_SHOWN] });
  });
});

const RAN_SHOWN = { command: "npm test", exit: 1, end: "exited", tests: "failed" };
