import { describe, expect, test } from "vitest";
import { ABORTED } from "../../../../src/machines/host-events.ts";
import { TASK_LIMITS } from "../../../../src/machines/task/setup.ts";
import { createEffects } from "../../../../src/services/engine/effects/effects.ts";
import type { HostMessage } from "../../../../src/services/host/host.ts";
import type { EffectOf } from "../../../../src/services/runtime/effects.ts";
import { NEWEST_MESSAGES } from "../../../../src/services/runtime/run-outcome.ts";
import { createTestContext } from "../../../fakes/context.ts";
import { createFakeHost, missing, refused, unavailable } from "../../../fakes/fake-host.ts";
import { createVirtualClock, settled } from "../../../fakes/virtual-clock.ts";
import { createRecordingLog } from "../../store/folder-and-log.ts";

const CHILD = "ses_1";
const PROMPT = { sessionID: CHILD, messageID: "msg_1", parts: [], agent: undefined, model: undefined };
const INSTRUCTION = { ...PROMPT, messageID: "msg_2" };

/** A host with a child session, and the handlers of a task's effects. */
const setUp = () => {
  const clock = createVirtualClock();
  const host = createFakeHost(clock);
  const log = createRecordingLog();
  host.addSession(CHILD, { habit: "mute" });
  const expected: string[] = [];
  let hasSlot = true;
  let isOurs = true;
  const context = createTestContext({ host, clock, log });
  const effects = createEffects({
    ...context,
    runtime: { ...context.runtime, isStillOurs: () => isOurs },
    // Nobody has taken anything back.
    observedSessions: { ...context.observedSessions, sessionOf: host.at },
    slots: { ...context.slots, take: () => hasSlot },
    noticeRepair: { ...context.noticeRepair, expect: (_, { messageID }) => void expected.push(messageID) },
  });
  const allTaken = () => {
    hasSlot = false;
  };
  const loseTask = () => {
    isOurs = false;
  };
  return { clock, host, log, effects, expected, allTaken, loseTask };
};

const inTask = (event: object) => ({ type: "TASK", id: CHILD, event });

describe("a slot", () => {
  const effect = { type: "requestSlot", taskId: CHILD } as EffectOf<"requestSlot">;

  test("that is free is taken at once, and one that is not is waited for", () => {
    const { effects, allTaken } = setUp();
    expect(effects.know(effect)).toMatchObject(inTask({ type: "SLOT_GRANTED" }));
    allTaken();
    expect(effects.know(effect)).toBeUndefined();
    expect(effects.perform(effect)).toBeUndefined();
  });

  test("that cannot be asked for ends the run: it would wait for ever", () => {
    const { effects } = setUp();
    expect(effects.onFault(effect, 5, "no queue")).toEqual(
      inTask({
        type: "SUPERVISION_FAILED",
        at: 5,
        error: { name: "InternalError", kind: "internal", message: "A fault in opencode-taskchart: no queue" },
      }),
    );
  });
});

describe("a prompt", () => {
  const send = ({ effects }: ReturnType<typeof setUp>) =>
    effects.perform({ type: "sendPrompt", taskId: CHILD, prompt: PROMPT });

  test.each([
    ["is taken", undefined, { type: "PROMPT_ACCEPTED" }, []],
    ["finds no session", missing, { type: "SESSION_NOT_FOUND" }, ["the host failed: SESSION_NOT_FOUND"]],
    [
      "is not taken for now",
      unavailable,
      { type: "PROMPT_REFUSED", retryable: true },
      ["the host failed: PROMPT_REFUSED"],
    ],
    ["is refused", refused, { type: "PROMPT_REFUSED", retryable: false }, ["the host failed: PROMPT_REFUSED"]],
  ])("that %s is reported as such", async (_, failure, event, logged) => {
    const world = setUp();
    if (failure) world.host.failNext("prompt", failure);
    expect(await send(world)).toMatchObject(inTask(event));
    expect(world.log.errors.map((line) => line.split(" {")[0])).toEqual(logged);
    if (failure && failure !== missing) expect(world.log.errors[0]).toContain(failure.message);
  });

  test("of a task that went to another process while it was sent is stopped again and again, but not for ever", async () => {
    const world = setUp();
    world.loseTask();
    void send(world);
    await world.clock.advance(TASK_LIMITS.stopAttempts * TASK_LIMITS.stopAgainAfter);
    await world.clock.advance(60_000);
    expect(world.host.calls.filter((call) => call === "abort")).toHaveLength(TASK_LIMITS.stopAttempts);
  });
});

describe("an instruction", () => {
  const steer = async ({ effects, host }: ReturnType<typeof setUp>) => {
    await host.prompt(PROMPT);
    const effect = { taskId: CHILD, runMessageID: "msg_1", instruction: INSTRUCTION };
    return effects.perform({ type: "sendSteering", ...effect });
  };

  test("is announced before it is stored", async () => {
    const world = setUp();
    expect(await steer(world)).toMatchObject(inTask({ type: "STEERING_STORED", messageID: "msg_2" }));
    expect(world.expected).toEqual(["msg_2"]);
  });

  test.each([
    ["is not stored for now", unavailable, true],
    ["finds the run's prompt not there yet", missing, true],
    ["is refused", refused, false],
  ])("that %s is reported with the host's words", async (_, failure, retryable) => {
    const world = setUp();
    world.host.failNext("storeMessage", failure);
    const message = `An instruction could not be given to the agent: ${failure.message}`;
    const error = { name: failure.name, kind: "host", message };
    expect(await steer(world)).toMatchObject(
      inTask({ type: "STEERING_REFUSED", messageID: "msg_2", error, retryable }),
    );
    expect(world.log.errors).toEqual([expect.stringContaining(message)]);
  });
});

const message = (given: Partial<HostMessage>): HostMessage => ({
  ...{ id: "msg_0", role: "user", createdAt: 1, promptID: undefined, completedAt: undefined, finish: undefined },
  ...{ error: undefined, isSummary: false, text: "" },
  ...given,
});

/** The run's prompt. */
const prompt = message({ id: "msg_1", text: "do it" });
/** What the model said in a step; by default it goes on after that. */
const said = (given: Partial<HostMessage> = {}): HostMessage =>
  message({
    ...{ role: "assistant", promptID: "msg_1", createdAt: 2, completedAt: 3 },
    ...(given.finish === undefined ? { finish: "tool-calls", tools: "called" } : {}),
    ...given,
  });
const steps = (count: number) => Array.from({ length: count }, () => said());
const FAILED = said({ finish: undefined, error: { name: "APIError", message: "401" }, completedAt: 7 });
const CUT_OFF = said({ finish: undefined, error: { name: ABORTED, message: "" }, completedAt: 7 });

const CHECK: EffectOf<"checkRun"> = {
  ...{ type: "checkRun", checkId: 1, taskId: CHILD, messageID: "msg_1", instructionID: undefined },
  ...{ hostError: undefined, abortedAt: undefined, wasMissing: false },
};

/** Checks a run whose session has these messages. Returns the answer, and how many messages were asked for each time. */
const check = async (messages: HostMessage[], given: Partial<EffectOf<"checkRun">> = {}) => {
  const { effects, host } = setUp();
  const asked: number[] = [];
  host.messages = async (_, count) => {
    asked.push(count);
    return { ok: true, value: messages.slice(-count) };
  };
  host.message = async (_, id) => {
    const found = messages.find((one) => one.id === id);
    return found ? { ok: true, value: { ...found, partIDs: [] } } : { ok: false, failure: missing };
  };
  const answer = await effects.perform({ ...CHECK, ...given });
  const event = answer?.type === "TASK" ? answer.event : undefined;
  return { event, asked };
};

describe("a check of a run", () => {
  const [few, all] = [[NEWEST_MESSAGES], [NEWEST_MESSAGES, 200]];
  const long = [prompt, ...steps(6)];
  const noted = message({ id: "msg_2", createdAt: 5 });

  test.each<[string, HostMessage[], Partial<EffectOf<"checkRun">>, object, number[]]>([
    [
      "with an answer in the newest messages",
      [...long, said({ finish: "stop", text: "12", completedAt: 7 })],
      {},
      { type: "CHECKED_ANSWERED", result: "12", completedAt: 7 },
      few,
    ],
    [
      "whose last words are older than those",
      [prompt, said({ text: "12" }), ...steps(5), said({ finish: "stop" })],
      {},
      { type: "CHECKED_ANSWERED", result: "", earlierText: "12" },
      all,
    ],
    [
      "that ended without a word, and has few messages",
      [prompt, said({ finish: "stop" })],
      {},
      { type: "CHECKED_ANSWERED", result: "" },
      few,
    ],
    ["that failed", [...long, FAILED], {}, { type: "CHECKED_FAILED", completedAt: 7 }, few],
    ["that was cut off after a step", [...long, CUT_OFF], {}, { type: "CHECKED_ABORTED", lastStepAt: 3 }, all],
    [
      "that was cut off, with no finished step among the newest messages",
      [prompt, said(), ...Array.from({ length: 6 }, () => CUT_OFF)],
      {},
      { type: "CHECKED_ABORTED", lastStepAt: 3 },
      all,
    ],
    ["that is not answered", long, {}, { type: "CHECKED_UNANSWERED", lastStepAt: 3 }, all],
    [
      "whose answer has not seen the instruction",
      [...long, noted, said({ finish: "stop", text: "12" })],
      { instructionID: "msg_2" },
      { type: "CHECKED_UNSEEN", lastStepAt: 3 },
      few,
    ],
    [
      "whose instruction is not stored yet",
      [...long, said({ finish: "stop", text: "12" })],
      { instructionID: "msg_2" },
      { type: "CHECKED_UNSEEN", lastStepAt: 3 },
      few,
    ],
    [
      "whose answer has seen the instruction",
      [...long, noted, said({ finish: "stop", text: "12", createdAt: 6, promptID: "msg_2" })],
      { instructionID: "msg_2" },
      { type: "CHECKED_ANSWERED", result: "12" },
      few,
    ],
  ])("%s reads as few messages as are needed", async (_, messages, given, event, asked) => {
    expect(await check(messages, given)).toMatchObject({ event, asked });
  });

  test("names the model that failed, where the host does", async () => {
    const model = { providerID: "fake", modelID: "m1" };
    expect((await check([prompt, { ...FAILED, model }])).event).toMatchObject({ type: "CHECKED_FAILED", model });
    expect((await check([prompt, FAILED])).event).not.toHaveProperty("model");
  });

  test("takes an error that the host reported, without a message that has it, for one of now", async () => {
    const hostError = { name: "APIError", message: "401" };
    const { event } = await check([prompt], { hostError });
    expect(event).toMatchObject({ type: "CHECKED_FAILED", completedAt: event?.at, error: hostError });
  });

  test("does not take an earlier interruption for a new one", async () => {
    const again = await check([prompt, CUT_OFF], { abortedAt: 7 });
    expect(again.event?.type).toBe("CHECKED_UNANSWERED");
    expect((await check([prompt, CUT_OFF], { abortedAt: 6 })).event?.type).toBe("CHECKED_ABORTED");
    const hostError = { name: ABORTED, message: "" };
    expect((await check([prompt], { hostError })).event?.type).toBe("CHECKED_ABORTED");
    expect((await check([prompt, CUT_OFF], { abortedAt: 7, hostError })).event?.type).toBe("CHECKED_UNANSWERED");
  });

  test.each([
    [{ name: "UnknownError", message: "database is locked", fault: "host" }, "CHECKED_HOST_FAULT"],
    [{ name: "UnknownError", message: "agent not found" }, "CHECKED_FAILED"],
  ] as const)("does not take %j for an earlier interruption, whatever that one left", async (hostError, type) => {
    const { name, message } = hostError;
    const faulted = said({ finish: undefined, error: { name, message: "full", fault: "host" }, completedAt: 7 });
    const open = said({ completedAt: 7 });
    for (const left of [CUT_OFF, faulted, { ...open, finish: undefined }]) {
      const { event } = await check([prompt, left], { abortedAt: 7, hostError });
      expect(event).toMatchObject({ type, error: { name, message } });
    }
  });

  test.each(["busy", "messages", "message"] as const)("fails where the host does not give its %s", async (call) => {
    const { effects, host, log } = setUp();
    await host.prompt(PROMPT);
    host.finish(CHILD, "12");
    host.failNext(call, unavailable);
    const error = { name: unavailable.name, kind: "host", message: unavailable.message };
    const answer = await effects.perform(CHECK);
    expect(answer).toMatchObject(inTask({ type: "CHECK_FAILED", checkId: 1, error }));
    expect(log.errors).toEqual([expect.stringContaining("the host failed: CHECK_FAILED")]);
  });

  test("of a session that is not found is said to the person who reads the log", async () => {
    const { effects, host, log } = setUp();
    host.failNext("messages", missing);
    expect(await effects.perform(CHECK)).toMatchObject(inTask({ type: "CHECKED_NOT_FOUND" }));
    expect(log.errors).toEqual([expect.stringContaining("the host failed: CHECKED_NOT_FOUND")]);
  });
});

describe("a change of the model", () => {
  const model = { providerID: "fake", modelID: "m2" };
  const change = async ({ effects }: ReturnType<typeof setUp>) =>
    effects.perform({ type: "changeModel", taskId: CHILD, model });

  test("ends the turn of the refused one", async () => {
    const world = setUp();
    await world.host.prompt(PROMPT);
    expect(await change(world)).toMatchObject(inTask({ type: "MODEL_CHANGED", model }));
    expect(world.host.at(CHILD).busy).toBe(false);
    expect(world.log.errors).toEqual([]);
  });

  test("of a session that is not found has nothing to end", async () => {
    const world = setUp();
    world.host.failNext("abort", missing);
    expect(await change(world)).toMatchObject(inTask({ type: "MODEL_CHANGED" }));
  });

  test.each([
    ["the turn cannot be ended", "abort", unavailable, unavailable],
    ["nobody says whether it has ended", "busy", unavailable, unavailable],
  ] as const)("is not confirmed where %s", async (_, call, failure, { name, message }) => {
    const world = setUp();
    world.host.failNext(call, failure);
    const error = { name, kind: "host", message: `OpenCode did not confirm that the session stopped: ${message}` };
    expect(await change(world)).toMatchObject(inTask({ type: "NOT_STOPPED", error }));
    expect(world.log.errors).toEqual([expect.stringContaining("the host failed: NOT_STOPPED")]);
  });

  test("is not confirmed while the session works on", async () => {
    const world = setUp();
    world.host.busy = async () => ({ ok: true, value: new Set([CHILD]) });
    const message = "OpenCode did not confirm that the session stopped.";
    const error = { name: "StillRunning", kind: "host", message };
    expect(await change(world)).toMatchObject(inTask({ type: "NOT_STOPPED", error }));
  });
});

describe("a session that is stopped", () => {
  const requests = ["per_1", "per_closed"].map(
    (id) => ({ id, kind: "permission", what: "bash: rm", since: 0 }) as const,
  );
  const stop = async (world: ReturnType<typeof setUp>) => {
    await world.host.prompt(PROMPT);
    for (const request of requests) world.host.emit({ type: "asked", sessionID: CHILD, request });
    world.host.emit({ type: "replied", sessionID: CHILD, requestID: "per_closed" });
    const effect = { taskId: CHILD, messageID: "msg_1", requests: [...requests] };
    return world.effects.perform({ type: "stopSession", ...effect });
  };

  test("gets its open requests rejected, with the reason; one that is closed is no hindrance", async () => {
    const world = setUp();
    expect(await stop(world)).toMatchObject(inTask({ type: "STOPPED" }));
    expect(world.host.answers).toEqual([{ id: "per_1", reply: "reject", message: "The task is cancelled." }]);
    expect(world.host.openRequests.size).toBe(0);
  });

  test.each(["abort", "children", "rejectUserRequest", "message", "busy"] as const)(
    "has not stopped for sure where the host does not answer to %s",
    async (call) => {
      const world = setUp();
      world.host.failNext(call, unavailable);
      const error = { name: unavailable.name, kind: "host" };
      expect(await stop(world)).toMatchObject(inTask({ type: "NOT_STOPPED", error }));
      expect(world.log.errors).toEqual([expect.stringContaining("the host failed: NOT_STOPPED")]);
    },
  );
});

test("a task that waits for an answer of the host learns of a fault of ours", async () => {
  const { effects, host } = setUp();
  host.throwNext("abort", "cannot read");
  const model = { providerID: "fake", modelID: "m2" };
  const effect = { type: "changeModel", taskId: CHILD, model } as const;
  await expect(effects.perform(effect)).rejects.toThrow("cannot read");
  await settled();
  expect(effects.onFault(effect, 5, "cannot read")).toMatchObject(
    inTask({ type: "SUPERVISION_FAILED", at: 5, error: { message: "A fault in opencode-taskchart: cannot read" } }),
  );
});
