import { expect, test } from "vitest";
import { statePath } from "../../../src/machines/chart.ts";
import type { Effect } from "../../../src/machines/supervisor/events.ts";
import type { Effects } from "../../../src/services/runtime/effects.ts";
import { settled } from "../../fakes/virtual-clock.ts";
import { START } from "../store/scripted-task.ts";
import { PARENT, PARENT_READY, testRuntime } from "./test-runtime.ts";

/** A runtime whose effects are carried out like this; by default they lead to nothing. */
const setUp = (perform?: Effects["perform"], effects?: Partial<Effects>, inspect?: () => void) => {
  const world = testRuntime({ perform, effects, inspect });
  const changed: string[] = [];
  world.bus.on("taskChanged", ({ sessionID, state }) => void changed.push(`${sessionID} ${state}`));
  const state = () => statePath(world.runtime.snapshotOf("ses_1")?.value.run);
  const failure = () => world.runtime.snapshotOf("ses_1")?.context.error?.message;
  return { ...world, state, failure, changed };
};

const failWith = (message: string) => () => {
  throw new Error(message);
};

test("a change that cannot be stored is logged, and the task goes on", () => {
  const { store, log, launch, state, changed } = setUp();
  store.commit = failWith("disk I/O error");
  launch();
  expect(state()).toBe("active.prompting.sending");
  expect(changed).toEqual(["ses_1 running.active.prompting.sending"]);
  expect(log.errors).toEqual(['a change could not be stored {"reason":"disk I/O error"}']);
});

test.each<[string, Effects["perform"]]>([
  ["throws", failWith("no adapter")],
  ["rejects", async () => failWith("no adapter")()],
])("an effect that %s is logged, and ends the run of the task that waits for it", async (_, perform) => {
  const world = setUp((effect) => (effect.type === "sendPrompt" ? perform(effect) : undefined));
  world.launch();
  await settled();
  expect(world.log.errors[0]).toBe('a fault in the effect "sendPrompt" {"reason":"no adapter"}');
  expect(world.failure()).toBe("A fault in opencode-taskchart: no adapter");
});

test("an effect of an outbox that throws is made up for by the outbox", async () => {
  const reads: string[] = [];
  const { clock, log, send, launch, answer } = setUp((effect) => {
    if (effect.type !== "readParent") return undefined;
    reads.push(effect.parentSessionID);
    return failWith("no adapter")();
  });
  launch();
  send("ses_1", { type: "PROMPT_ACCEPTED" });
  answer("ses_1");
  expect(reads).toEqual([PARENT]);
  expect(log.errors).toEqual(['a fault in the effect "readParent" {"reason":"no adapter"}']);
  await clock.advance(2_000);
  expect(reads).toEqual([PARENT, PARENT]);
});

test("an outbox that breaks is replaced by one that is given the ends it owed, but for those that a call waits for", () => {
  const composed: string[][] = [];
  const { log, runtime, send, launch, answer, inOutbox } = setUp((effect) => {
    if (effect.type === "composeNotice") composed.push(effect.queue.map(({ taskId }) => taskId));
    return undefined;
  });
  for (const id of ["ses_1", "ses_2", "ses_3"]) launch(id);
  send("ses_1", { type: "WAIT_BEGAN", call: "call_1" });
  for (const id of ["ses_1", "ses_2"]) {
    send(id, { type: "PROMPT_ACCEPTED" });
    answer(id);
  }
  runtime.dispatch({ type: "ADOPT_PROMPTS", at: START, parentSessionID: PARENT, prompts: null as never });
  expect(log.errors).toEqual([expect.stringContaining(`a fault in a chart {"id":"outbox:${PARENT}"`)]);
  inOutbox(PARENT_READY);
  expect(composed).toEqual([["ses_2"]]);
});

test("an answer that the charts break on is logged", async () => {
  const { log, launch } = setUp(async () => ({ type: "RESTORE", snapshot: null }) as never);
  launch();
  await settled();
  expect(log.errors).toContainEqual(expect.stringMatching(/^a fault after the effect "sendPrompt" \{"reason":".+"\}$/));
});

test("a fault in what is known of an effect without the host ends the run, and is logged", () => {
  const performed: string[] = [];
  const know = (effect: Effect) => (effect.type === "requestSlot" ? failWith("no queue")() : undefined);
  const { log, launch, failure } = setUp((effect) => void performed.push(effect.type), { know });
  launch();
  expect(performed).not.toContain("requestSlot");
  expect(log.errors[0]).toBe('a fault in the effect "requestSlot" {"reason":"no queue"}');
  expect(failure()).toBe("A fault in opencode-taskchart: no queue");
});

test("a task that waits for a slot is stored, though its chart has taken no step", () => {
  const { store, asked, launch } = setUp(undefined, { know: () => undefined });
  launch();
  expect([store.get("ses_1")?.task.state, asked]).toEqual(["running.queued", ["requestSlot"]]);
  expect(store.journal("ses_1")).toEqual([]);
});

test("a chart with a deadline has something to do when it is over", async () => {
  const { clock, store, runtime, launch, state } = setUp();
  launch();
  const error = { name: "Unreachable", kind: "host", message: "connection refused" } as const;
  runtime.send("ses_1", { type: "PROMPT_REFUSED", at: START, error, retryable: true });
  expect(state()).toBe("active.prompting.backingOff");
  await clock.advance(60_000);
  expect(state()).toBe("active.prompting.sending");
  expect(store.get("ses_1")?.task.state).toBe("running.active.prompting.sending");
});

test("a task that is forgotten is dropped, and its listeners are called", () => {
  const { store, runtime, launch, changed } = setUp();
  launch();
  const task = store.get("ses_1")?.task;
  store.remove(["ses_1"]);
  changed.length = 0;
  runtime.forget(task ? [task] : []);
  expect(runtime.liveTasks()).toEqual([]);
  expect(changed).toEqual(["ses_1 running.active.prompting.sending"]);
  expect(runtime.awaitsTasks(PARENT)).toBe(false);
  expect(runtime.concerns({ type: "deleted", sessionID: PARENT })).toBe(false);
});

test("what is known of an effect without the host is not asked of it", () => {
  const performed: string[] = [];
  const { launch, state } = setUp((effect) => void performed.push(effect.type));
  launch();
  expect([state(), performed]).toEqual(["active.prompting.sending", ["sendPrompt"]]);
});

test("a fault in an effect whose answer nobody waits for is only logged", () => {
  const { log, launch, state } = setUp(failWith("no adapter"), { onFault: () => undefined });
  launch();
  expect(state()).toBe("active.prompting.sending");
  expect(log.errors).toEqual(['a fault in the effect "sendPrompt" {"reason":"no adapter"}']);
});

test("an observer that throws is told nothing more, is logged once, and disturbs no task", () => {
  let told = 0;
  const { log, launch, state } = setUp(undefined, {}, () => {
    told += 1;
    throw new Error("no screen");
  });
  launch();
  expect(state()).toBe("active.prompting.sending");
  expect(told).toBe(1);
  expect(log.errors).toEqual(['the charts cannot be observed any more {"reason":"no screen"}']);
});
