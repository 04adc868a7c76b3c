import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createDurableStage } from "../../fakes/durable-stage.ts";
import { type FakeHost, missing, refused, unavailable } from "../../fakes/fake-host.ts";
import { PARENT } from "../../fakes/stage.ts";
import { settled, type VirtualClock } from "../../fakes/virtual-clock.ts";
import { watched } from "../../fakes/watched.ts";

/** Longer than a launch looks for a session, in milliseconds. */
const SOUGHT = 16_000;

let stage: ReturnType<typeof createDurableStage>;

beforeEach(() => {
  stage = createDurableStage();
});

afterEach(() => stage.engine.stop());

/** The launches that are stored as under way. */
const onRecord = () => stage.disk.boot(stage.clock).adopt(stage.clock.now() + 60_000, () => true).launches;

/** The next call of this name fails as if it had no answer, and is done so many milliseconds later. */
const doneLate = (host: FakeHost, clock: VirtualClock, call: "createSession" | "fork", ms: number) => {
  const original = host[call] as (...args: unknown[]) => Promise<unknown>;
  Object.assign(host, {
    [call]: async (...args: unknown[]) => {
      Object.assign(host, { [call]: original });
      clock.after(ms, () => void original.apply(host, args));
      return { ok: false, failure: unavailable };
    },
  });
};

const late = (call: "createSession" | "fork", ms: number) => doneLate(stage.host, stage.clock, call, ms);

describe("a session whose making had no answer", () => {
  test.each([0, 500, 14_000])("and that is there %i ms later is used for the task", async (ms) => {
    late("createSession", ms);
    const launched = watched(stage.launch());
    await stage.clock.advance(SOUGHT);
    const id = String(launched.value);
    expect(stage.task(id).status).toBe("running");
    expect(stage.host.sessionIDs()).toEqual([PARENT, id]);
    expect(stage.host.calls.filter((call) => call === "createSession")).toHaveLength(1);
    stage.host.finish(id, "12");
    await stage.clock.advance(1_000);
    expect(stage.notices()).toHaveLength(1);
    expect(onRecord()).toEqual([]);
  });

  test("is deleted after a while, though a fault of ours ends the search for it", async () => {
    late("createSession", 0);
    stage.host.throwNext("sessionsSince", "kaboom");
    const launched = watched(stage.launch());
    await stage.clock.advance(SOUGHT);
    expect(String(launched.fault)).toMatch(/did not say whether it created a session/);
    expect(stage.logged.join("\n")).toContain('a fault in the effect "findSession"');
    await stage.clock.advance(600_000);
    expect(stage.host.sessionIDs()).toEqual([PARENT]);
    expect(onRecord()).toEqual([]);
  });

  test.each([20_000, 100_000])("and that comes %i ms later is removed, when its launch was refused", async (ms) => {
    late("createSession", ms);
    const launched = watched(stage.launch());
    await stage.clock.advance(SOUGHT);
    expect(String(launched.fault)).toMatch(/did not say whether it created a session.*connection refused.*Try again/);
    await stage.clock.advance(ms - SOUGHT);
    expect(stage.host.sessionIDs()).toHaveLength(2);
    await stage.clock.advance(60_000);
    expect(stage.host.sessionIDs()).toEqual([PARENT]);
    expect(stage.engine.list({})).toEqual([]);
    expect(onRecord()).toEqual([]);
  });

  test("is off the record once it is gone, though the host did not confirm its removal", async () => {
    late("createSession", 20_000);
    const remove = stage.host.deleteSession;
    Object.assign(stage.host, {
      deleteSession: async (id: string) => {
        Object.assign(stage.host, { deleteSession: remove });
        await remove(id);
        return { ok: false, failure: unavailable };
      },
    });
    watched(stage.launch());
    await stage.clock.advance(120_000);
    expect(stage.host.sessionIDs()).toEqual([PARENT]);
    expect(onRecord()).toEqual([]);
  });

  test("is looked for again when the host does not say what there is", async () => {
    late("createSession", 0);
    stage.host.failNext("sessionsSince", unavailable, 3);
    const launched = watched(stage.launch());
    await stage.clock.advance(SOUGHT);
    expect(stage.task(String(launched.value)).status).toBe("running");
  });

  test("stays on record while nobody knows whether it was made, and the next process has the last word", async () => {
    stage.host.failNext("createSession", unavailable);
    const launched = watched(stage.launch());
    await stage.clock.advance(3_600_000);
    expect(launched.fault).toBeDefined();
    await stage.restart();
    await stage.clock.advance(1_000);
    expect(stage.host.calls.at(-1)).toBe("sessionsSince");
    expect(onRecord()).toEqual([]);
  });

  test("is found by the next process when this one has stopped looking", async () => {
    late("createSession", 1_800_000);
    const launched = watched(stage.launch());
    await stage.clock.advance(3_600_000);
    expect(launched.fault).toBeDefined();
    expect(stage.host.sessionIDs()).toHaveLength(2);
    await stage.restart();
    await stage.clock.advance(1_000);
    expect(stage.host.sessionIDs()).toEqual([PARENT]);
    expect(onRecord()).toEqual([]);
  });

  test("is looked for ever more rarely, and no more after a quarter of an hour", async () => {
    stage.host.failNext("createSession", unavailable);
    watched(stage.launch());
    const looks = () => stage.host.calls.filter((call) => call === "sessionsSince").length;
    await stage.clock.advance(SOUGHT);
    const first = looks();
    await stage.clock.advance(300_000);
    expect(looks() - first).toBeLessThan(12);
    await stage.clock.advance(700_000);
    const last = looks();
    await stage.clock.advance(3_600_000);
    expect(looks()).toBe(last);
    expect(stage.logged.join("\n")).toContain("the next OpenCode process searches again");
  });

  test("is removed when the turn was aborted meanwhile", async () => {
    late("createSession", 5_000);
    const turn = new AbortController();
    const launched = watched(
      stage.call("task", { description: "a", prompt: "b", agent: "general" }, { abort: turn.signal }),
    );
    await stage.clock.advance(3_000);
    turn.abort();
    await settled();
    expect(String(launched.fault)).toContain("aborted");
    await stage.clock.advance(60_000);
    expect(stage.host.sessionIDs()).toEqual([PARENT]);
    expect(onRecord()).toEqual([]);
  });
});

test("once stopped, the engine asks the host for nothing: what was being made is on record for the next process", async () => {
  stage.host.failNext("createSession", unavailable);
  const plain = watched(stage.launch());
  await stage.clock.advance(1_500);
  stage.host.failNext("storeMessage", unavailable, 10);
  const forked = watched(stage.launch({ fork: true }));
  await stage.clock.advance(100);
  stage.engine.stop();
  await settled();
  const asked = stage.host.calls.length;
  await stage.clock.advance(60_000);
  for (const { fault } of [plain, forked]) expect(String(fault)).toContain("was stopped in the meantime");
  expect(stage.host.calls.slice(asked)).toEqual([]);
  expect(onRecord()).toHaveLength(2);
  await stage.restart();
});

test("a copy that OpenCode still makes when it has loaded the plugin anew is removed", async () => {
  // To the next plugin, the process that was asked for the copy lives.
  stage.disk.keepAlive();
  stage.host.converse(PARENT);
  const end = stage.host.beginStep(PARENT, "msg_turn");
  await stage.clock.advance(10);
  const held = stage.host.holdNext("fork");
  const launched = watched(stage.launch({ fork: true }));
  await settled();
  await stage.reopen();
  end();
  expect(String(launched.fault)).toContain("was stopped in the meantime");
  await stage.clock.advance(60_000);
  held.release();
  await settled();
  expect(stage.host.sessionIDs()).toHaveLength(2);
  await stage.clock.advance(900_000);
  expect(stage.host.sessionIDs()).toEqual([PARENT]);
  expect(onRecord()).toEqual([]);
});

test("a session that the host refused to make is not looked for", async () => {
  stage.host.failNext("createSession", refused);
  await expect(stage.launch()).rejects.toThrow("OpenCode created no session for the task: BadRequest: no. Try again.");
  expect(stage.host.calls).not.toContain("sessionsSince");
  expect(onRecord()).toEqual([]);
});

test("a session made for an aborted turn is removed, though the host cannot do that at once", async () => {
  const turn = new AbortController();
  const held = stage.host.holdNext("createSession");
  watched(stage.call("task", { description: "a", prompt: "b", agent: "general" }, { abort: turn.signal }));
  await settled();
  turn.abort();
  stage.host.failNext("deleteSession", unavailable, 2);
  held.release();
  await settled();
  expect(stage.host.sessionIDs()).toHaveLength(2);
  await stage.clock.advance(20_000);
  expect(stage.host.sessionIDs()).toEqual([PARENT]);
  expect(onRecord()).toEqual([]);
});

describe("a session to be removed that the host says not to find", () => {
  /** A launch is aborted while its session is being created, and the host does not find the session when it is to go. */
  const abandon = async () => {
    const turn = new AbortController();
    const held = stage.host.holdNext("createSession");
    watched(stage.call("task", { description: "a", prompt: "b", agent: "general" }, { abort: turn.signal }));
    await settled();
    turn.abort();
    stage.host.failNext("deleteSession", missing);
    held.release();
    await settled();
  };
  test("is removed all the same where the host lists it", async () => {
    await abandon();
    expect(stage.host.sessionIDs()).toHaveLength(2);
    expect(onRecord()).toHaveLength(1);
    await stage.clock.advance(20_000);
    expect(stage.host.sessionIDs()).toEqual([PARENT]);
    expect(onRecord()).toEqual([]);
  });

  test("is believed to be gone where the host does not list it", async () => {
    const listed = stage.host.holdNext("sessionsSince");
    await abandon();
    stage.host.delete(stage.host.sessionIDs().find((id) => id !== PARENT) ?? "");
    listed.release();
    await stage.clock.advance(20_000);
    expect(stage.host.calls.filter((call) => call === "deleteSession")).toHaveLength(1);
    expect(onRecord()).toEqual([]);
  });

  test("is looked for again where the host does not say what there is", async () => {
    stage.host.failNext("sessionsSince", unavailable);
    await abandon();
    await stage.clock.advance(20_000);
    expect(stage.host.sessionIDs()).toEqual([PARENT]);
    expect(onRecord()).toEqual([]);
  });
});

test("what a process that died left is removed, though the host does not answer at first", async () => {
  const held = stage.host.holdNext("createSession");
  watched(stage.launch());
  await settled();
  held.release();
  stage.life.dieAfter(1);
  await settled();
  stage.host.failNext("sessionsSince", unavailable, 2);
  await stage.restart();
  await stage.clock.advance(1_000);
  expect(stage.host.sessionIDs()).toHaveLength(2);
  await stage.clock.advance(20_000);
  expect(stage.host.sessionIDs()).toEqual([PARENT]);
  expect(onRecord()).toEqual([]);
});

describe("a fork that had no answer", () => {
  /** Has the parent's agent launch a fork from the middle of its turn. */
  const launchFork = async () => {
    const end = stage.host.beginStep(PARENT, "msg_turn");
    await stage.clock.advance(10);
    const id = await stage.launch({ fork: true });
    end();
    return id;
  };

  test.each([0, 40_000])(
    "and that is there %i ms later is removed; the child has the conversation as text",
    async (ms) => {
      stage.host.converse(PARENT);
      late("fork", ms);
      const id = await launchFork();
      expect(stage.task(id)).toMatchObject({ isForked: true, status: "running" });
      await stage.clock.advance(ms + 60_000);
      expect(stage.host.sessionIDs()).toEqual([PARENT, id]);
      expect(onRecord()).toEqual([]);
    },
  );

  test("does not end the search of another launch, whose own copy comes later", async () => {
    stage.host.converse(PARENT);
    const { fork } = stage.host;
    const delays = [0, 40_000];
    Object.assign(stage.host, {
      fork: async (...asked: Parameters<FakeHost["fork"]>) => {
        stage.clock.after(delays.shift() ?? 0, () => void fork(...asked));
        return { ok: false, failure: unavailable };
      },
    });
    const removal = stage.host.holdNext("deleteSession");
    const end = stage.host.beginStep(PARENT, "msg_turn");
    await stage.clock.advance(10);
    const ids = await Promise.all([stage.launch({ fork: true }), stage.launch({ fork: true })]);
    end();
    // Both have looked for copies, and found the first one, when it is deleted.
    await stage.clock.advance(20_000);
    removal.release();
    await stage.clock.advance(200_000);
    expect(stage.host.sessionIDs()).toEqual([PARENT, ...ids]);
    expect(onRecord()).toEqual([]);
  });

  test("is left alone when it is not whole: a person's copy looks the same", async () => {
    stage.host.converse(PARENT);
    stage.host.failNext("fork", unavailable);
    const id = await launchFork();
    const made = await stage.host.fork(PARENT, "msg_turn");
    const copy = made.ok ? made.value.id : "";
    stage.host.at(copy).messages.pop();
    await stage.clock.advance(3_600_000);
    expect(stage.host.sessionIDs()).toEqual([PARENT, id, copy]);
    await stage.restart();
    await stage.clock.advance(1_000);
    expect(stage.host.sessionIDs()).toContain(copy);
    expect(stage.logged.join("\n")).toContain(`forks are left alone`);
    expect(onRecord()).toEqual([]);
  });

  test("does not cost people the copies that they make meanwhile", async () => {
    stage.host.converse(PARENT);
    const asked = stage.host.at(PARENT).messages[0]?.id ?? "";
    stage.host.failNext("fork", unavailable);
    const id = await launchFork();
    // Of all of it, of what stands before a person's message, and of nothing.
    const copies = [];
    for (const before of ["", stage.host.at(PARENT).messages[2]?.id ?? "", asked]) {
      const copy = await stage.host.fork(PARENT, before);
      copies.push(copy.ok ? copy.value.id : "");
    }
    await stage.clock.advance(3_600_000);
    await stage.restart();
    await stage.clock.advance(1_000);
    expect(stage.host.sessionIDs()).toEqual([PARENT, id, ...copies]);
  });

  test("has its mark before its title, so that a copy which a killed process was naming is removed", async () => {
    stage.host.converse(PARENT);
    const mark = stage.host.holdNext("updateSession");
    const title = stage.host.holdNext("updateSession");
    void launchFork();
    await stage.clock.advance(1_000);
    mark.release();
    await stage.clock.advance(1_000);
    const copy = stage.host.sessionIDs().find((id) => id !== PARENT) ?? "";
    expect(stage.host.at(copy)).toMatchObject({
      title: expect.stringMatching(/\(fork #1\)$/),
      metadata: { taskchart: { parentSessionID: PARENT } },
    });
    await stage.restart();
    await stage.clock.advance(1_000);
    expect(stage.host.sessionIDs()).toEqual([PARENT]);
    title.release();
  });

  test("is not looked for while another fork of that session may have no mark yet", async () => {
    stage.host.converse(PARENT);
    stage.host.failNext("fork", unavailable);
    await launchFork();
    const held = stage.host.holdNext("updateSession");
    const other = watched(stage.launch({ fork: true }, { messageID: "msg_turn" }));
    await stage.clock.advance(120_000);
    expect(stage.host.calls).not.toContain("deleteSession");
    held.release();
    await stage.clock.advance(1_000);
    expect(other.fault).toBeUndefined();
    expect(stage.task(String(other.value))).toMatchObject({ isForked: true, status: "running" });
  });
});
