import { expect, test } from "vitest";
import { createWaits } from "../../../../src/services/engine/operations/wait.ts";
import { createEventBus } from "../../../../src/services/platform/listeners.ts";
import { createProgressLog } from "../../../../src/services/runtime/progress.ts";
import { createRuntime } from "../../../../src/services/runtime/runtime.ts";
import { createMemory } from "../../../fakes/disk.ts";
import { createFakeEffects } from "../../../fakes/effects.ts";
import { createStage, PARENT, type Stage, stageWithResult } from "../../../fakes/stage.ts";
import { taskInput } from "../../../fakes/task-input.ts";
import { createVirtualClock, settled } from "../../../fakes/virtual-clock.ts";
import { watched } from "../../../fakes/watched.ts";

/** A wait for a task that runs, over a runtime whose listeners are counted. */
const waitFor = (timeoutMs: number | undefined) => {
  const clock = createVirtualClock();
  const store = createMemory().boot(clock);
  const log = { info: () => undefined, error: () => undefined };
  const effects = createFakeEffects(() => undefined);
  const runtime = createRuntime({
    clock,
    store,
    log,
    effects,
    progress: createProgressLog(),
    bus: createEventBus(log),
  });
  const { facts, run } = taskInput("ses_1");
  runtime.dispatch({ type: "LAUNCH", at: clock.now(), task: { facts, run } });
  let listeners = 0;
  const subscribe: typeof runtime.subscribe = (listener) => {
    listeners += 1;
    const unsubscribe = runtime.subscribe(listener);
    return () => {
      listeners -= 1;
      unsubscribe();
    };
  };
  const waits = createWaits({ ...runtime, subscribe }, store, clock);
  const turn = new AbortController();
  const caller = { sessionID: PARENT, callID: "call_1", signal: turn.signal };
  const wait = watched(waits.wait({ ...caller, taskIds: ["ses_1"], timeoutMs }));
  const end = () => {
    runtime.send("ses_1", { type: "CANCEL", at: clock.now() });
    runtime.send("ses_1", { type: "STOPPED", at: clock.now() });
  };
  const waiters = () => runtime.snapshotOf("ses_1")?.context.waiters;
  return { clock, waits, turn, wait, end, waiters, listeners: () => listeners };
};

test.each(["ended", "timedOut", "aborted", "stopped"] as const)(
  "a wait that ended no longer listens: %s",
  async (outcome) => {
    const { clock, waits, turn, wait, end, listeners } = waitFor(outcome === "timedOut" ? 1_000 : 3_600_000);
    await settled();
    expect(listeners()).toBeGreaterThan(0);
    if (outcome === "ended") end();
    if (outcome === "timedOut") await clock.advance(1_000);
    if (outcome === "aborted") turn.abort();
    if (outcome === "stopped") waits.stop();
    await settled();
    expect(wait.value).toBe(outcome);
    expect(listeners()).toBe(0);
  },
);

test("a call that has more to do before it returns delivers the result all the same, however long that takes", async () => {
  const { clock, waits, wait, end, waiters } = waitFor(undefined);
  end();
  await settled();
  expect(wait.value).toBe("ended");
  await clock.advance(3_600_000);
  expect(waiters()).toEqual(["call_1"]);
  waits.onCallReturned({ sessionID: PARENT, callID: "call_1" });
  await clock.advance(9_999);
  expect(waiters()).toEqual(["call_1"]);
  // The host has lost its output.
  await clock.advance(1);
  expect(waiters()).toEqual([]);
});

test("a timeout of 0 ends the wait at once, and does not mean no limit", async () => {
  const { clock, wait } = waitFor(0);
  await clock.advance(0);
  expect(wait.value).toBe("timedOut");
});

const storeOutput = (stage: Stage, callID: string) =>
  stage.host.emit({ type: "toolCall", sessionID: PARENT, callID, tool: "asyncagents_output", stage: "stored" });

test("the result of a run that begins after a wait has ended is delivered by a notice", async () => {
  const { stage, id } = await stageWithResult("There are 12.");
  const before = stage.notices().length;
  await stage.call("output", { task_id: id, block: true }, { callID: "call_1" });
  storeOutput(stage, "call_1");
  await stage.call("task", { resume: id, prompt: "And in b?" });
  await settled();
  stage.host.finish(id, "There are 3.");
  await stage.clock.advance(60_000);
  expect(stage.notices()).toHaveLength(before + 1);
});

test("if a call id is used again before its first output is stored, that output counts as undelivered at once", async () => {
  const stage = createStage();
  const [first, second] = [await stage.launch(), await stage.launch()];
  const read = async (id: string, answer: string) => {
    const call = watched(stage.call("output", { task_id: id, block: true }, { callID: "call_1" }));
    await settled();
    await stage.finish(id, answer);
    expect(call.value).toContain(answer);
  };
  await read(first, "one");
  await stage.clock.advance(9_000);
  expect(stage.notices()).toEqual([]);
  await read(second, "two");
  await stage.clock.advance(0);
  expect(stage.notices()).toHaveLength(1);
  // The timeout of the first output has passed by then, and does not affect the second one.
  await stage.clock.advance(2_000);
  storeOutput(stage, "call_1");
  await stage.clock.advance(60_000);
  const texts = stage.noticeText();
  expect(stage.notices()).toHaveLength(1);
  expect(texts).toContain("one");
  expect(texts).not.toContain("two");
});
