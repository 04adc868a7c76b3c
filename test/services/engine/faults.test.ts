import { describe, expect, test } from "vitest";
import { createMemory } from "../../fakes/disk.ts";
import { unavailable } from "../../fakes/fake-host.ts";
import { malformedRequestEvent } from "../../fakes/malformed-events.ts";
import { createStage, PARENT, type Stage, stageWithTask } from "../../fakes/stage.ts";
import { createVirtualClock, settled } from "../../fakes/virtual-clock.ts";

describe("a host with bad habits", () => {
  test("two idle events end a run once, and it is delivered once", async () => {
    const { stage, id } = await stageWithTask();
    stage.host.finish(id, "12", { idles: 3 });
    await stage.clock.advance(60_000);
    expect(stage.task(id).result).toBe("12");
    expect(stage.notices()).toHaveLength(1);
  });

  test("an answer that the events tell completely needs no call; one that they do not is asked for", async () => {
    const stage = createStage();
    const [plain, unwritten] = [await stage.launch(), await stage.launch()];
    stage.host.calls.length = 0;
    stage.host.finish(plain, "12");
    expect(stage.host.calls).not.toContain("busy");
    stage.host.finish(unwritten, "13", { unwritten: true });
    expect(stage.host.calls).toContain("busy");
    await settled();
    expect([plain, unwritten].map((id) => stage.task(id).result)).toEqual(["12", "13"]);
  });

  test.each(["lose", "ignore"] as const)(
    "a prompt that the host seems to %s is sent again with the same ids",
    async (habit) => {
      const stage = createStage();
      stage.host.childHabits(habit, "reply");
      const id = await stage.launch();
      await stage.clock.advance(10_000);
      expect(stage.task(id)).toMatchObject({ status: "completed", result: "ok" });
      const { prompts, messages } = stage.host.at(id);
      expect(prompts.length).toBeGreaterThan(1);
      expect(new Set(prompts.map((prompt) => JSON.stringify(prompt))).size).toBe(1);
      expect(messages.filter(({ role }) => role === "user")).toHaveLength(1);
    },
  );

  test.each(["mute", "lose"] as const)(
    "a prompt is given up in error after two minutes of %s, and stopped",
    async (habit) => {
      const stage = createStage();
      stage.host.childHabits(habit);
      const id = await stage.launch();
      await stage.clock.advance(120_000);
      expect(stage.task(id)).toMatchObject({ status: "error", error: { kind: "unanswered" } });
      expect(stage.host.at(id).prompts).toHaveLength(7);
      expect(stage.host.calls).toContain("abort");
      expect(stage.notices()).toHaveLength(1);
    },
  );

  test("a long run is not given up, nor prompted again", async () => {
    const { stage, id } = await stageWithTask();
    await stage.clock.advance(3_600_000);
    await stage.clock.sleep(5 * 3_600_000);
    expect(stage.task(id).status).toBe("running");
    expect(stage.host.at(id).prompts).toHaveLength(1);
  });
});

describe("a host call that fails", () => {
  test("a launch prompt whose answer never comes is given up in the end, and what it set going is stopped", async () => {
    const stage = createStage();
    const { prompt } = stage.host;
    stage.host.prompt = async (sent) => {
      await prompt(sent);
      return { ok: false, failure: unavailable };
    };
    const id = await stage.launch();
    await settled();
    expect(stage.host.at(id).busy).toBe(true);
    await stage.clock.advance(300_000);
    expect(stage.task(id)).toMatchObject({ status: "error", error: { kind: "host" } });
    expect(stage.host.at(id).busy).toBe(false);
  });
});

describe("a session that is deleted", () => {
  test("the child's: the task ends in error, and the parent is notified", async () => {
    const { stage, id } = await stageWithTask();
    stage.host.delete(id);
    await settled();
    expect(stage.task(id)).toMatchObject({ status: "error", error: { kind: "sessionGone" } });
    expect(stage.notices()).toHaveLength(1);
  });

  test("the child's, by another OpenCode, while it waits for a person: no event comes, and it would work on for ever", async () => {
    const { stage, id } = await stageWithTask();
    await stage.ask(id, "bash: ls");
    stage.host.listen(() => undefined);
    stage.host.delete(id);
    stage.host.listen((event) => stage.engine.onHostEvent(event));
    await stage.clock.advance(120_000);
    expect(stage.task(id).status).toBe("error");
    expect([...stage.host.openRequests]).toEqual([]);
    expect(stage.notices()).toHaveLength(1);
  });

  test("the parent's, while a launch is on its way: nothing is left running", async () => {
    const stage = createStage();
    const hold = stage.host.holdNext("createSession");
    const launch = stage.launch();
    await settled();
    stage.host.delete(PARENT);
    hold.release();
    await expect(launch).rejects.toThrow(/was stopped in the meantime/);
    expect(stage.store.list({})).toEqual([]);
  });

  test("the parent's, while a notice is on its way", async () => {
    const { stage, id } = await stageWithTask();
    const hold = stage.host.holdNext("session");
    await stage.finish(id, "12");
    stage.host.delete(PARENT);
    hold.release();
    await stage.clock.advance(600_000);
    expect(stage.store.list({})).toEqual([]);
  });
});

test("every failure of the host leaves a line in the log", async () => {
  const stage = createStage();
  stage.host.failNext("prompt", unavailable);
  const id = await stage.launch();
  await stage.clock.advance(2_000);
  for (const call of ["messages", "session", "prompt"] as const) stage.host.failNext(call, unavailable);
  stage.host.finish(id, "12", { unwritten: true });
  await stage.clock.advance(60_000);
  const log = stage.logged.join("\n");
  const failures = ["PROMPT_REFUSED", "CHECK_FAILED", "the host could not be read", "SEND_REFUSED"];
  for (const failure of failures) expect(log).toContain(failure);
  expect(stage.notices()).toHaveLength(1);
});

describe("a fault of our own", () => {
  test.each(["prompt", "busy"] as const)(
    "a throw where the host is asked for %s ends that task alone, and its parent is notified",
    async (call) => {
      const stage = createStage();
      const other = await stage.launch();
      if (call === "prompt") stage.host.throwNext(call, "kaboom");
      const id = await stage.launch();
      if (call === "busy") stage.host.throwNext(call, "kaboom");
      if (call === "busy") stage.host.finish(id, "12", { unwritten: true });
      await settled();
      expect(stage.task(id)).toMatchObject({ status: "error", error: { kind: "internal" } });
      expect(stage.task(id).failureReason).toContain("kaboom");
      expect(stage.logged.join("\n")).toContain("kaboom");
      expect(stage.notices()).toHaveLength(1);
      stage.host.finish(other, "fine");
      await stage.clock.advance(1_000);
      expect(stage.task(other).status).toBe("completed");
    },
  );

  test("a throw where a session is made is the tool's error, and its launch stays on record", async () => {
    const ended: string[] = [];
    const { boot } = createMemory();
    const endLaunch = (messageID: string) => void ended.push(messageID);
    const stage = createStage({ openStore: (clock) => ({ ...boot(clock), endLaunch }) });
    stage.host.throwNext("createSession", "kaboom");
    const refusal = expect(stage.launch()).rejects.toThrow(/did not say whether it created a session.*kaboom/);
    await stage.clock.advance(60_000);
    await refusal;
    // What the host did is not known.
    expect(ended).toEqual([]);
  });

  test("a throw while a notice is formed delays it only", async () => {
    const { stage, id } = await stageWithTask();
    const { list } = stage.store;
    let broken = true;
    stage.store.list = (filter) => {
      if (broken && filter.parentSessionID === PARENT) throw new Error("kaboom");
      return list(filter);
    };
    await stage.finish(id, "12");
    broken = false;
    await stage.clock.advance(10_000);
    expect(stage.notices()).toHaveLength(1);
    expect(stage.logged.join("\n")).toContain("kaboom");
  });

  test("a throw of the store loses no task and stops no machine", async () => {
    const { stage, id } = await stageWithTask();
    const { commit } = stage.store;
    stage.store.commit = () => {
      stage.store.commit = commit;
      throw new Error("disk full");
    };
    await stage.finish(id, "12");
    expect(stage.logged.join("\n")).toContain("disk full");
    expect(stage.notices()).toHaveLength(1);
    expect(stage.task(id)).toMatchObject({ status: "completed", result: "12" });
  });

  test("a throw inside the supervisor itself: another takes over, and what was owed is delivered", async () => {
    const { stage, id } = await stageWithTask();
    stage.host.emit({ type: "error", sessionID: PARENT, error: { name: "APIError", message: "overloaded" } });
    const other = await stage.launch();
    await stage.finish(id, "12");
    stage.engine.onHostEvent({
      type: "error",
      sessionID: PARENT,
      get error() {
        throw new Error("kaboom");
      },
    } as never);
    stage.engine.onHostEvent(malformedRequestEvent(other));
    await stage.clock.advance(60_000);
    expect(stage.notices()).toHaveLength(1);
    stage.host.finish(other, "13");
    await stage.clock.advance(1_000);
    expect(stage.notices()).toHaveLength(2);
    expect(stage.logged.join("\n")).toContain("a fault in the supervisor");
  });

  test("a throw inside a machine ends its task alone, and its parent is notified", async () => {
    const stage = createStage();
    const other = await stage.launch();
    const id = await stage.launch();
    const poisoned = { type: "asked", sessionID: id, request: null } as never;
    stage.engine.onHostEvent(poisoned);
    await settled();
    expect(stage.task(id)).toMatchObject({ status: "error", error: { kind: "internal" } });
    expect(stage.notices()).toHaveLength(1);
    stage.host.finish(other, "fine");
    await stage.clock.advance(1_000);
    expect(stage.task(other).status).toBe("completed");
    expect(await stage.launch()).toMatch(/^ses_/);
  });
});

test("events of sessions that are not ours change nothing", async () => {
  const { stage, id } = await stageWithTask();
  const before = stage.task(id);
  stage.host.addSession("ses_stranger");
  stage.host.fail("ses_stranger", { name: "APIError", message: "401" });
  stage.host.delete("ses_stranger");
  await settled();
  expect(stage.task(id)).toEqual(before);
});

describe("an answer of the parent that no event told of", () => {
  /** The notice is taken, and its answer begun, while no event comes through. */
  const answeredUnheard = async (stage: Stage) => {
    const id = await stage.launch();
    stage.host.habits(PARENT, "work");
    const hold = stage.host.holdNext("prompt");
    await stage.finish(id, "12");
    stage.host.listen(() => undefined);
    hold.release();
    await settled();
    expect(stage.host.at(PARENT).messages.at(-1)).toMatchObject({ role: "assistant", completedAt: undefined });
    return id;
  };

  test("counts though it is not finished: the notice is acknowledged when the host is asked", async () => {
    const stage = createStage();
    const id = await answeredUnheard(stage);
    expect(stage.store.get(id)?.snapshot.value.notice).toBe("sending");
    await stage.clock.advance(2_000);
    expect(stage.store.get(id)?.snapshot.value.notice).toBe("none");
    expect(stage.notices()).toHaveLength(1);
  });
});

describe("when the engine is stopped, and a part of it throws", () => {
  test("every other part is stopped, the store is closed, and the fault is not hidden", async () => {
    const clock = createVirtualClock();
    let isFaulty = false;
    const faulty = {
      ...clock,
      after: (ms: number, fire: () => void) => {
        const callOff = clock.after(ms, fire);
        return () => {
          if (!isFaulty) return callOff();
          isFaulty = false;
          throw new Error("kaboom");
        };
      },
    };
    let isClosed = false;
    const store = createMemory().boot(clock);
    const close = () => {
      isClosed = true;
      store.close();
    };
    const stage = createStage({ clock: faulty, openStore: () => ({ ...store, close }) });
    await stage.launch();
    isFaulty = true;
    expect(() => stage.engine.stop()).toThrow("kaboom");
    // Only the one timer that could not be called off is left.
    expect(clock.pending()).toBe(1);
    expect(isClosed).toBe(true);
  });
});
