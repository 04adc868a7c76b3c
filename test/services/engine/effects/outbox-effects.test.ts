import { describe, expect, test } from "vitest";
import type { Effect } from "../../../../src/machines/supervisor/events.ts";
import { createEffects } from "../../../../src/services/engine/effects/effects.ts";
import { createTestContext } from "../../../fakes/context.ts";
import { createFakeHost, MODEL, missing, refused, unavailable } from "../../../fakes/fake-host.ts";
import { PARENT } from "../../../fakes/stage.ts";
import { createVirtualClock, settled } from "../../../fakes/virtual-clock.ts";
import { createRecordingLog } from "../../store/folder-and-log.ts";
import { noticePrompt } from "../../store/scripted-task.ts";

/** A host with a parent, and the handlers of its outbox's effects. */
const setUp = (untilNoticeReady: () => Promise<void> | undefined = () => undefined, othersRun = false) => {
  const clock = createVirtualClock();
  const host = createFakeHost(clock);
  host.addSession(PARENT, { agent: "build", model: MODEL, habit: "mute" });
  const log = createRecordingLog();
  const deleted: string[] = [];
  const known: string[] = [];
  const context = createTestContext({ host, clock, log });
  const launch = { parentSessionID: PARENT, signal: new AbortController().signal, cancel: () => undefined };
  context.bus.on("sessionDeleted", ({ sessionID }) => void deleted.push(sessionID));
  const effects = createEffects({
    ...context,
    runtime: { ...context.runtime, hasRunningTasks: () => othersRun },
    reads: {
      ...context.reads,
      // What was read before, without a call to the host.
      session: async (id) => {
        known.push(id);
        return { ok: true, value: { ...host.at(id), agent: "plan" } };
      },
    },
    worktrees: { ...context.worktrees, untilCounted: untilNoticeReady },
    launches: { ...context.launches, of: () => [{ ...launch, batchId: "batch_2" }] },
  });
  return { clock, host, log, effects, deleted, known };
};

const inOutbox = (event: object) => ({ type: "OUTBOX", id: PARENT, event });
/** The lines of the log that say what the host failed to do. */
const failed = ({ log }: ReturnType<typeof setUp>) => log.errors.map((line) => line.split(" {")[0]);

const PROMPT = noticePrompt("msg_n");
const SENDER = { agent: "build", model: undefined };
const SEND = { type: "sendNotice", parentSessionID: PARENT, prompt: PROMPT, sender: SENDER } as const;

test.each([
  ["was taken", undefined, { type: "SENT", messageID: "msg_n" }, []],
  [
    "was not taken for now",
    unavailable,
    { type: "SEND_REFUSED", messageID: "msg_n", retryable: true },
    ["the host failed: SEND_REFUSED"],
  ],
  [
    "was refused",
    refused,
    { type: "SEND_REFUSED", messageID: "msg_n", message: refused.message, retryable: false },
    ["the host failed: SEND_REFUSED"],
  ],
  [
    "found no parent, which is looked for at once",
    missing,
    { type: "PARENT_NOT_FOUND", message: missing.message },
    ["the host failed: PARENT_NOT_FOUND"],
  ],
])("a notice that %s is reported as such", async (_, failure, event, logged) => {
  const world = setUp();
  if (failure) world.host.failNext("prompt", failure);
  expect(await world.effects.perform(SEND)).toMatchObject(inOutbox(event));
  expect(failed(world)).toEqual(logged);
});

describe("a parent that is read", () => {
  const READ = { type: "readParent", parentSessionID: PARENT, wasRefused: false, asksRoom: false } as const;

  test("is not asked for again where all its tasks have ended", async () => {
    const { effects, known } = setUp();
    expect(await effects.perform(READ)).toMatchObject(
      inOutbox({ type: "PARENT_READ", sender: { agent: "plan" }, othersRun: false }),
    );
    expect(known).toEqual([PARENT]);
  });

  test("is asked for anew while others may end, and says whether they still run then", async () => {
    const { effects, known } = setUp(undefined, true);
    expect(await effects.perform(READ)).toMatchObject(
      inOutbox({ type: "PARENT_READ", sender: { agent: "build" }, othersRun: true }),
    );
    expect(known).toEqual([]);
  });

  test("is asked for anew after a refusal, and keeps its agent if the host has it", async () => {
    const { effects, host, known } = setUp();
    const read = () => effects.perform({ ...READ, wasRefused: true });
    expect(await read()).toMatchObject(inOutbox({ sender: { agent: "build", model: MODEL } }));
    host.agentList.length = 0;
    expect(await read()).toMatchObject(inOutbox({ sender: { agent: undefined, model: MODEL } }));
    host.failNext("agents", unavailable);
    expect(await read()).toMatchObject(inOutbox({ sender: { agent: "build", model: MODEL } }));
    expect(known).toEqual([]);
  });

  test("is read though there is always one more end of which not all is known", async () => {
    let asked = 0;
    const { effects } = setUp(() => {
      asked += 1;
      return asked > 50 ? undefined : Promise.resolve();
    });
    expect(await effects.perform(READ)).toMatchObject(inOutbox({ type: "PARENT_READ" }));
    expect(asked).toBe(2);
  });

  test.each([
    [unavailable, "READ_FAILED"],
    [missing, "PARENT_NOT_FOUND"],
  ])("and not given (%o) is reported as such", async (failure, type) => {
    const world = setUp();
    world.host.failNext("session", failure);
    const answer = await world.effects.perform({ ...READ, wasRefused: true });
    expect(answer).toMatchObject(inOutbox({ type, message: failure.message }));
    expect(failed(world)).toEqual([`the host failed: ${type}`]);
  });
});

describe("a notice that is checked", () => {
  const CHECK = { type: "checkNotice", parentSessionID: PARENT, messageID: "msg_n" } as const;
  const check = (world: ReturnType<typeof setUp>) => world.effects.perform(CHECK);
  const sent = async () => {
    const world = setUp();
    await world.effects.perform(SEND);
    return world;
  };

  test("and is not stored is unanswered", async () => {
    const world = setUp();
    expect(await check(world)).toEqual(
      inOutbox({
        type: "CHECKED",
        at: world.clock.now(),
        messageID: "msg_n",
        storedAt: undefined,
        standing: "unanswered",
      }),
    );
    expect(failed(world)).toEqual([]);
  });

  test("is pending while the parent works, and unanswered if it does not", async () => {
    const world = await sent();
    const storedAt = world.clock.now();
    world.host.busy = async () => ({ ok: true, value: new Set([PARENT]) });
    expect(await check(world)).toMatchObject(inOutbox({ type: "CHECKED", storedAt, standing: "pending" }));
    world.host.busy = async () => ({ ok: true, value: new Set() });
    expect(await check(world)).toMatchObject(inOutbox({ type: "CHECKED", storedAt, standing: "unanswered" }));
  });

  test.each([
    ["finished", 9, false, "answered"],
    ["being written", undefined, true, "answered"],
    ["cut off", undefined, false, "unanswered"],
  ])("and whose answer is %s", async (_, completedAt, isBusy, standing) => {
    const world = await sent();
    const { messages } = world.host;
    world.host.messages = async (...asked) => {
      const read = await messages(...asked);
      const [stored] = read.ok ? read.value : [];
      if (!read.ok || !stored) return read;
      const answer = { ...stored, id: "msg_o", role: "assistant", promptID: "msg_n", completedAt } as const;
      return { ok: true, value: [stored, answer] };
    };
    world.host.busy = async () => ({ ok: true, value: new Set(isBusy ? [PARENT] : []) });
    expect(await check(world)).toMatchObject(inOutbox({ type: "CHECKED", standing }));
  });

  test.each(["message", "messages", "busy"] as const)("fails where the host does not give its %s", async (call) => {
    const world = await sent();
    world.host.failNext(call, unavailable);
    expect(await check(world)).toMatchObject(
      inOutbox({ type: "CHECK_FAILED", messageID: "msg_n", message: unavailable.message }),
    );
    expect(failed(world)).toEqual(["the host failed: CHECK_FAILED"]);
  });

  test("of a parent that is not found has the parent looked for", async () => {
    const world = await sent();
    world.host.failNext("messages", missing);
    expect(await check(world)).toMatchObject(inOutbox({ type: "PARENT_NOT_FOUND", message: missing.message }));
    expect(failed(world)).toEqual(["the host failed: PARENT_NOT_FOUND"]);
  });
});

describe("a parent that is looked for", () => {
  const find = ({ effects }: ReturnType<typeof setUp>) =>
    effects.perform({ type: "findParent", parentSessionID: PARENT });

  test("and is there is found", async () => {
    const world = setUp();
    expect(await find(world)).toEqual(inOutbox({ type: "PARENT_FOUND", at: world.clock.now() }));
    expect(world.deleted).toEqual([]);
  });

  test("and was deleted is closed, once everybody knows", async () => {
    const world = setUp();
    world.host.delete(PARENT);
    expect(await find(world)).toEqual(inOutbox({ type: "PARENT_CLOSED", at: world.clock.now() }));
    expect(world.deleted).toEqual([PARENT]);
  });

  test("where the host does not answer is looked for again", async () => {
    const world = setUp();
    for (const call of ["session", "allSessions"] as const) world.host.failNext(call, unavailable);
    expect(await find(world)).toMatchObject(inOutbox({ type: "SEARCH_FAILED", message: unavailable.message }));
    expect(failed(world)).toEqual(["the host failed: SEARCH_FAILED"]);
  });
});

test("of the batches that an outbox asks for it learns which have ended", () => {
  const { effects, clock } = setUp();
  const effect = { type: "checkBatches", parentSessionID: PARENT, batchIds: ["batch_ended", "batch_2"] } as const;
  expect(effects.perform({ ...effect, batchIds: [...effect.batchIds] })).toEqual(
    inOutbox({ type: "BATCHES_CHECKED", at: clock.now(), ended: ["batch_ended"] }),
  );
});

test("toasts are shown a moment later, and the log says which could not be", async () => {
  const { effects, host, log, clock } = setUp();
  const toasts = ["one", "two"].map((message) => ({ message, variant: "info" as const }));
  host.failNext("toast", refused);
  const shown = effects.perform({ type: "showToasts", parentSessionID: PARENT, toasts });
  await settled();
  expect(host.calls).not.toContain("toast");
  await clock.advance(1_500);
  expect(await shown).toBeUndefined();
  expect(host.toasts.map(({ message }) => message)).toEqual(["two"]);
  expect(log.infos).toEqual([`a toast could not be shown ${JSON.stringify({ reason: refused.message })}`]);
});

test.each([
  ["readParent", { wasRefused: false }, { type: "READ_FAILED" }],
  ["composeNotice", { ends: [] }, { type: "COMPOSE_FAILED" }],
  ["sendNotice", { prompt: PROMPT, sender: SENDER }, { type: "SEND_REFUSED", messageID: "msg_n", retryable: true }],
  ["checkNotice", { messageID: "msg_n" }, { type: "CHECK_FAILED", messageID: "msg_n" }],
  ["findParent", {}, { type: "SEARCH_FAILED" }],
] as const)("where %s throws, the outbox learns of it and tries again", (type, fields, event) => {
  const { effects } = setUp();
  const answer = effects.onFault({ type, parentSessionID: PARENT, ...fields } as Effect, 5, "cannot read");
  expect(answer).toEqual(inOutbox({ ...event, at: 5, message: "cannot read" }));
});
