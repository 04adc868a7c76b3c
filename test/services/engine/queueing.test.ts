import { describe, expect, test } from "vitest";
import { slotOf } from "../../../src/machines/task/slot.ts";
import { GOES_AHEAD_MS } from "../../../src/machines/task/slot-queue.ts";
import { createDisk, createMemory } from "../../fakes/disk.ts";
import { createFakeHost } from "../../fakes/fake-host.ts";
import { createStage, PARENT, type Stage, stageWithTask } from "../../fakes/stage.ts";
import { createVirtualClock, settled } from "../../fakes/virtual-clock.ts";

/** Milliseconds after which slots that other processes freed are noticed. */
const ASK_AGAIN = 1_000;

const stateOf = (stage: Stage, id: string) => stage.task(id).state;
const statesOf = (stage: Stage, ids: string[]) => ids.map((id) => stateOf(stage, id));

const launchAll = async (stage: Stage, count: number): Promise<string[]> => {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) ids.push(await stage.launch());
  return ids;
};

const finish = async (stage: Stage, id: string | undefined, result = "12") => {
  await stage.finish(id ?? "", result);
};

const isPrompted = (stage: Stage, id: string) => stage.host.at(id).parts.size > 0;

test("of twelve launches two are at work at a time, in the order in which they were launched", async () => {
  const stage = createStage({ concurrency: { default: 2 } });
  const ids = await launchAll(stage, 12);
  for (const [index, id] of ids.entries()) {
    const states = statesOf(stage, ids);
    expect(states.filter((state) => state === "running.active.working.busy")).toHaveLength(Math.min(2, 12 - index));
    expect(states.indexOf("running.queued")).toBe(index + 2 < 12 ? index + 2 : -1);
    expect(ids.filter((queued) => isPrompted(stage, queued))).toHaveLength(Math.min(index + 2, 12));
    await finish(stage, id);
  }
  expect(statesOf(stage, ids)).toEqual(ids.map(() => "completed"));
});

test("a resumed task queues like any other, and is prompted once it has its slot", async () => {
  const stage = createStage({ concurrency: { default: 1 } });
  const id = await stage.complete("12");
  await stage.clock.advance(60_000);
  const other = await stage.launch();
  await stage.call("task", { resume: id, prompt: "And now?" });
  expect(stateOf(stage, id)).toBe("resumed.queued");
  await finish(stage, other);
  expect(stateOf(stage, id)).toBe("resumed.active.working.busy");
});

test("a task that is cancelled in the queue was never prompted, and lets the next one pass", async () => {
  const stage = createStage({ concurrency: { default: 1 } });
  const [first, second, third] = await launchAll(stage, 3);
  await stage.call("cancel", { task_id: second });
  expect(stage.task(second ?? "").status).toBe("cancelled");
  await finish(stage, first);
  expect(stateOf(stage, third ?? "")).toBe("running.active.working.busy");
  expect(isPrompted(stage, second ?? "")).toBe(false);
});

test.each([
  ["is cancelled", (stage: Stage, id: string) => stage.call("cancel", { task_id: id })],
  ["fails", async (stage: Stage, id: string) => stage.host.fail(id, { name: "APIError", message: "401" })],
  ["is deleted", async (stage: Stage, id: string) => stage.host.delete(id)],
])("a task that %s frees its slot", async (_, end) => {
  const stage = createStage({ concurrency: { default: 1 } });
  const [first, second] = await launchAll(stage, 2);
  await end(stage, first ?? "");
  await stage.clock.advance(ASK_AGAIN);
  expect(stateOf(stage, second ?? "")).toBe("running.active.working.busy");
});

test("a task that waits for a person frees its slot, and goes on at once when it has its answer", async () => {
  const stage = createStage({ concurrency: { default: 1 } });
  const [first, second, third] = await launchAll(stage, 3);
  await stage.ask(first ?? "", "bash: rm");
  expect(stateOf(stage, second ?? "")).toBe("running.active.working.busy");
  stage.reply(first ?? "");
  await settled();
  await finish(stage, second);
  await stage.clock.advance(ASK_AGAIN);
  expect(stateOf(stage, third ?? "")).toBe("running.queued");
  await finish(stage, first);
  expect(stateOf(stage, third ?? "")).toBe("running.active.working.busy");
});

test("tasks that are answered go on above the limit, and count: nothing starts before there is room again", async () => {
  const stage = createStage({ concurrency: { default: 2 } });
  const ids = await launchAll(stage, 5);
  const [asking, working, last] = [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)];
  for (const id of asking) {
    const request = { id: `per_${id}`, kind: "permission", what: "bash: rm", since: 1 } as const;
    stage.host.emit({ type: "asked", sessionID: id, request });
    await settled();
  }
  expect(statesOf(stage, [...working, ...last])).toEqual([
    "running.active.working.busy",
    "running.active.working.busy",
    "running.queued",
  ]);
  for (const id of asking) stage.host.emit({ type: "replied", sessionID: id, requestID: `per_${id}` });
  await settled();
  const heldUpBy = { kind: "total", name: "", used: 4, limit: 2 };
  for (const [index, id] of [...asking, working[0]].entries()) {
    expect(stage.task(last[0] ?? "")).toMatchObject({
      state: "running.queued",
      queue: { heldUpBy: { ...heldUpBy, used: 4 - index } },
    });
    await finish(stage, id);
    await stage.clock.advance(ASK_AGAIN);
  }
  expect(statesOf(stage, last)).toEqual(["running.active.working.busy"]);
});

describe("parents and children on one slot", () => {
  test("a parent whose turn has ended gives its slot to its children, one by one, and goes on with their results", async () => {
    const stage = createStage({ concurrency: { default: 1 } });
    const lead = await stage.launch();
    const children = [await stage.launch({}, { sessionID: lead }), await stage.launch({}, { sessionID: lead })];
    expect(statesOf(stage, children)).toEqual(["running.queued", "running.queued"]);
    await finish(stage, lead, "I wait.");
    expect(statesOf(stage, [lead, ...children])).toEqual([
      "running.active.working.awaitingTasks",
      "running.active.working.busy",
      "running.queued",
    ]);
    for (let round = 0; round < 20 && stage.task(lead).status === "running"; round += 1) {
      for (const id of [...children, lead]) if (stage.host.at(id).busy) await finish(stage, id);
      await stage.clock.advance(5_000);
    }
    expect([lead, ...children].map((id) => stage.task(id).status)).toEqual(["completed", "completed", "completed"]);
  });

  test("a parent whose tool call waits for a child gives it its slot, and is at work when that ends", async () => {
    const stage = createStage({ concurrency: { default: 1 } });
    const lead = await stage.launch();
    const child = await stage.launch({}, { sessionID: lead });
    const other = await stage.launch();
    const output = stage.call(
      "output",
      { task_id: child, block: true, timeout: 600_000 },
      { sessionID: lead, callID: "call_1" },
    );
    await settled();
    expect(statesOf(stage, [lead, child, other])).toEqual([
      "running.active.working.busy",
      "running.active.working.busy",
      "running.queued",
    ]);
    await finish(stage, child, "It is in a.ts.");
    expect(await output).toContain("It is in a.ts.");
    expect(stateOf(stage, other)).toBe("running.queued");
    stage.host.emit({ type: "toolCall", sessionID: lead, callID: "call_1", tool: "output", stage: "stored" });
    await finish(stage, lead);
    expect(stateOf(stage, other)).toBe("running.active.working.busy");
  });

  test("a parent that is taken over in a waiting call works beside its child until its turn ends again, and nothing starts", async () => {
    const stage = createStage({ concurrency: { default: 1 } });
    const lead = await stage.launch();
    const child = await stage.launch({}, { sessionID: lead });
    const other = await stage.launch();
    const slot = (id: string) => slotOf(stage.store.get(id)?.snapshot as never);
    const args = { task_id: child, block: true, timeout: 600_000 };
    stage.call("output", args, { sessionID: lead, callID: "call_1" }).catch(() => undefined);
    await settled();
    expect([slot(lead), slot(child)]).toEqual(["none", "held"]);
    await stage.restart();
    await stage.clock.advance(5_000);
    expect(statesOf(stage, [lead, child, other])).toEqual([
      "running.active.working.busy",
      "running.active.working.busy",
      "running.queued",
    ]);
    expect([slot(lead), slot(child)]).toEqual(["held", "held"]);
    await finish(stage, lead, "I wait.");
    await stage.clock.advance(ASK_AGAIN);
    expect([slot(lead), slot(child), slot(other)]).toEqual(["none", "held", "waiting"]);
    await finish(stage, child);
    for (let round = 0; round < 20 && stage.task(other).status === "running"; round += 1) {
      for (const id of [lead, other]) if (stage.host.at(id).busy) await finish(stage, id);
      await stage.clock.advance(5_000);
    }
    expect([lead, child, other].map((id) => stage.task(id).status)).toEqual(["completed", "completed", "completed"]);
  });
});

describe("a crash with a full queue", () => {
  test("leaves the order and the limit as they were", async () => {
    const stage = createStage({ concurrency: { default: 2 } });
    const ids = await launchAll(stage, 6);
    await stage.restart();
    await stage.clock.advance(5_000);
    expect(statesOf(stage, ids)).toEqual([
      "running.active.working.busy",
      "running.active.working.busy",
      ...ids.slice(2).map(() => "running.queued"),
    ]);
    for (const [index, id] of ids.entries()) {
      const queued = ids.slice(index + 2);
      expect(statesOf(stage, queued)).toEqual(queued.map(() => "running.queued"));
      await finish(stage, id);
    }
    await stage.clock.advance(5_000);
    expect(ids.map((id) => stage.task(id).status)).toEqual(ids.map(() => "completed"));
  });
});

describe("two processes on one limit", () => {
  test("take turns in the order of the launches, whoever launched", async () => {
    const clock = createVirtualClock();
    const disk = createDisk();
    disk.keepAlive();
    const stages = [createFakeHost(clock), createFakeHost(clock)].map((host) =>
      createStage({ clock, host, openStore: disk.boot, concurrency: { default: 1 } }),
    );
    const [one, two] = stages as [Stage, Stage];
    // So that no session of one host has the id of one of the other.
    for (let count = 0; count < 10; count += 1) await two.host.createSession({ parentID: PARENT, title: "" } as never);
    const launched: [Stage, string][] = [];
    for (const stage of [one, two, two, one]) {
      launched.push([stage, await stage.launch()]);
      await clock.advance(10);
    }
    for (const [stage, id] of launched) {
      await clock.advance(ASK_AGAIN);
      const working = launched.filter(([of, task]) => stateOf(of, task) === "running.active.working.busy");
      expect(working.map(([, task]) => task)).toEqual([id]);
      await finish(stage, id);
    }
    disk.remove();
  });
});

describe("when a provider is asked again that refused a task for now", () => {
  const REFUSED_FOR = 20_000;

  /** A task that is refused, and others on its provider that wait. */
  const refusing = async () => {
    const stage = createStage();
    const refused = await stage.launch();
    stage.host.refuseForNow(refused, REFUSED_FOR);
    const others = await launchAll(stage, 3);
    await stage.clock.advance(REFUSED_FOR + 1);
    expect(statesOf(stage, [refused, ...others])).toEqual([
      "running.active.working.busy",
      ...others.map(() => "running.queued"),
    ]);
    return { stage, refused, others };
  };

  test("the others start when it answers that task, and say until then what they wait for", async () => {
    const { stage, refused, others } = await refusing();
    const { queue } = stage.task(others[1] ?? "");
    expect(queue).toMatchObject({ place: 2, heldUpBy: { kind: "rateLimit", name: "fake" } });
    stage.host.emit({ type: "answering", sessionID: refused });
    await stage.clock.advance(ASK_AGAIN);
    expect(statesOf(stage, others)).toEqual(others.map(() => "running.active.working.busy"));
  });

  test("none of them starts if it refuses that task again", async () => {
    const { stage, refused, others } = await refusing();
    stage.host.refuseForNow(refused, REFUSED_FOR);
    await stage.clock.advance(REFUSED_FOR);
    expect(statesOf(stage, others)).toEqual(others.map(() => "running.queued"));
  });

  test.each([
    ["ends", (stage: Stage, id: string) => finish(stage, id)],
    ["is cancelled", (stage: Stage, id: string) => stage.call("cancel", { task_id: id })],
    ["is heard of no more", (stage: Stage) => stage.clock.advance(GOES_AHEAD_MS)],
  ])("they start when that task %s", async (_, end) => {
    const { stage, refused, others } = await refusing();
    await end(stage, refused);
    await stage.clock.advance(ASK_AGAIN);
    expect(statesOf(stage, others)).toEqual(others.map(() => "running.active.working.busy"));
  });
});

test("an uncontended launch writes the file twice: the slot, and the task with it", async () => {
  const memory = createMemory();
  const writes: string[] = [];
  const { stage, id } = await stageWithTask({
    openStore: (clock) => {
      const store = memory.boot(clock);
      return {
        ...store,
        grantSlots: (requests) => {
          writes.push("slot");
          return store.grantSlots(requests);
        },
        commit: (change) => {
          writes.push("commit");
          return store.commit(change);
        },
      };
    },
  });
  expect(writes).toEqual(["slot", "commit", "commit"]);
  expect(stage.store.journal(id).map(({ type }) => type)).toEqual(["SLOT_GRANTED", "PROMPT_ACCEPTED"]);
});

describe("a queued task is shown with its place and what it waits for", () => {
  const queued = async () => {
    const stage = createStage({ concurrency: { default: 2, agents: { explore: 1 } } });
    await stage.launch({ agent: "explore" });
    const explorer = await stage.launch({ agent: "explore" });
    await stage.launch();
    return { stage, explorer };
  };

  test("by the launch", async () => {
    const { stage } = await queued();
    const args = { description: "find it", prompt: "Find it.", agent: "general" };
    expect(await stage.call("task", args)).toContain(
      "It is queued: 1st, waits for a slot (2 of 2 in use). It starts by itself.",
    );
    expect(await stage.call("task", args)).toContain("It is queued: 2nd, waits for a slot (2 of 2 in use).");
  });

  test("by the launch, when its provider refuses another task, and it starts when that is over", async () => {
    const stage = createStage();
    const refused = await stage.launch();
    const until = stage.clock.now() + 20_000;
    stage.host.emit({ type: "retrying", sessionID: refused, attempt: 1, message: "slow down", until });
    const args = { description: "find it", prompt: "Find it.", agent: "general" };
    const words = `queued: 1st, waits for fake, which refused another task and is asked again at ${new Date(until).toISOString()}`;
    expect(await stage.call("task", args)).toContain(`It is ${words}. It starts by itself.`);
    expect(await stage.call("list")).toContain(words);
    expect(await stage.call("task", { ...args, model: "router/anthropic/claude" })).not.toContain("queued");
    const queued = stage.engine.list({ parentSessionID: PARENT }).find(({ queue }) => queue)?.sessionID ?? "";
    await stage.clock.advance(20_000 + GOES_AHEAD_MS - 1);
    expect(stage.task(queued).state).toBe("running.queued");
    await stage.clock.advance(ASK_AGAIN);
    expect(stage.task(queued).state).toBe("running.active.working.busy");
  });

  test("by the list, a line of a batch and the report", async () => {
    const { stage, explorer } = await queued();
    const words = "queued: 1st, waits for a slot of agent explore (1 of 1 in use)";
    const { batchId } = stage.task(explorer);
    expect(await stage.call("list")).toMatch(new RegExp(`- ${explorer} .* · ${words.replace(/[()]/g, "\\$&")}$`, "m"));
    expect(await stage.call("output", { batch_id: batchId })).toContain(words);
    const report = await stage.call("output", { task_id: explorer });
    expect(report).toContain("Status: running for 0ms (queued)");
    expect(report).toContain(
      "Waits for: a slot of agent explore (1 of 1 in use, 0 ahead of it); it starts by itself (for 0ms)",
    );
    const place = { place: 1, heldUpBy: { kind: "agent", name: "explore", used: 1, limit: 1 } };
    expect(stage.task(explorer).queue).toEqual(place);
    expect(stage.engine.list({ parentSessionID: PARENT }).find(({ queue }) => queue)?.queue).toEqual(place);
  });
});
