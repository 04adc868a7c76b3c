import { expect, test } from "vitest";
import { createMemory } from "../../fakes/disk.ts";
import type { FakeHost } from "../../fakes/fake-host.ts";
import { createStage, PARENT, type Stage, stageWithTask } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

/** Counts calls by name, in the order in which the names came up. */
const counted = (calls: FakeHost["calls"]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const call of calls) counts[call] = (counts[call] ?? 0) + 1;
  return counts;
};

/** The calls to the host that `work` leads to, including those that follow within two seconds. */
const callsOf = async (stage: Stage, work: () => Promise<unknown>): Promise<Record<string, number>> => {
  const before = stage.host.calls.length;
  await work();
  await stage.clock.advance(2_000);
  return counted(stage.host.calls.slice(before));
};

/** A stage whose parent is in the step that launches, as the host's events tell before its tools are called. */
const createStageInStep = (): Stage => {
  const stage = createStage();
  stage.host.beginStep(PARENT, STEP);
  return stage;
};

/** The message that launches, where a test does not name another. */
const STEP = "msg_turn";

test("a launch costs the host one call for the session, one for the prompt, and one read of the caller", async () => {
  const stage = createStageInStep();
  expect(await callsOf(stage, () => stage.launch())).toEqual({ agents: 1, session: 1, createSession: 1, prompt: 1 });
  expect(await callsOf(stage, () => stage.launch())).toEqual({ session: 1, createSession: 1, prompt: 1 });
});

test("of a parent that the host's events have described, a launch and an end read nothing", async () => {
  const stage = createStageInStep();
  stage.host.emitSession(PARENT);
  await stage.launch();
  let id = "";
  const launch = async () => {
    id = await stage.launch();
  };
  expect(await callsOf(stage, launch)).toEqual({ createSession: 1, prompt: 1 });
  await stage.call("cancel", { all: true });
  await stage.clock.advance(60_000);
  const last = await stage.launch();
  expect(id).not.toBe(last);
  const end = async () => stage.host.finish(last, "12");
  expect(await callsOf(stage, end)).toEqual({ prompt: 1, toast: 1 });
});

test("twenty launches of one message read the caller once", async () => {
  const stage = createStageInStep();
  const launchAll = () => Promise.all(Array.from({ length: 20 }, () => stage.launch()));
  expect(await callsOf(stage, launchAll)).toEqual({ agents: 1, session: 1, createSession: 20, prompt: 20 });
});

test("a launch below a session that is a child itself reads the sessions above it once", async () => {
  const stage = createStage();
  const lead = await stage.launch();
  stage.host.beginStep(lead, STEP);
  const launchBelow = () => stage.launch({}, { sessionID: lead });
  expect(await callsOf(stage, launchBelow)).toEqual({ session: 1, createSession: 1, prompt: 1 });
  expect(await callsOf(stage, launchBelow)).toEqual({ createSession: 1, prompt: 1 });
});

test("a launch in a step that no event told of reads that step, once for all launches in it", async () => {
  const stage = createStage();
  const launchAll = () => Promise.all(Array.from({ length: 20 }, () => stage.launch()));
  expect(await callsOf(stage, launchAll)).toMatchObject({ session: 1, message: 1, createSession: 20, prompt: 20 });
});

test("an end costs the host one read of the parent, one prompt and one toast", async () => {
  const { stage, id } = await stageWithTask();
  const end = async () => stage.host.finish(id, "12");
  expect(await callsOf(stage, end)).toEqual({ session: 1, prompt: 1, toast: 1 });
});

test("twenty ends of one moment cost the host as little as one", async () => {
  const stage = createStage();
  const tasks = await Promise.all(Array.from({ length: 20 }, () => stage.launch()));
  const endAll = async () => tasks.forEach((id) => void stage.host.finish(id, "12"));
  expect(await callsOf(stage, endAll)).toEqual({ session: 1, prompt: 1, toast: 1 });
  expect(stage.notices().map((parts) => parts.length)).toEqual([21]);
});

test("ends that come while the parent is read go into the same notice, even if other tasks go on", async () => {
  const stage = createStage();
  const tasks = await Promise.all(Array.from({ length: 4 }, () => stage.launch()));
  const [first = "", second = "", third = ""] = tasks;
  const reads = [stage.host.holdNext("session"), stage.host.holdNext("session"), stage.host.holdNext("session")];
  await stage.finish(first, "1");
  stage.host.finish(second, "2");
  reads[0]?.release();
  await settled();
  stage.host.finish(third, "3");
  reads[1]?.release();
  await settled();
  expect(stage.notices()).toEqual([]);
  reads[2]?.release();
  await settled();
  expect(stage.notices().map((parts) => parts.length)).toEqual([4]);
});

test("four ends of a batch that wakes the parent's agent once cost one read, one prompt and one toast", async () => {
  const ends = async (wake: "each" | "all") => {
    const stage = createStage({ wake });
    const tasks = await Promise.all(Array.from({ length: 4 }, () => stage.launch()));
    return callsOf(stage, async () => {
      for (const id of tasks) {
        stage.host.finish(id, "12");
        await stage.clock.advance(500);
      }
    });
  };
  expect(await ends("all")).toEqual({ session: 1, prompt: 1, toast: 1 });
  expect(await ends("each")).toMatchObject({ prompt: 4, toast: 4 });
});

test("a step that the host's own events lead to at once is stored with the one before it", async () => {
  const { stage, id } = await stageWithTask({ openStore: createMemory().boot });
  const inOneChange: string[][] = [];
  const { commit } = stage.store;
  stage.store.commit = (change) => {
    inOneChange.push(change.journal.map(({ event }) => event.type));
    return commit(change);
  };
  await stage.finish(id, "12");
  expect(inOneChange).toEqual([
    ["HOST_IDLE", "CHECKED_ANSWERED", "RECEIPT_WRITTEN"],
    ["NOTICE_COMPOSED"],
    ["NOTICE_ACKNOWLEDGED"],
  ]);
  expect(stage.notices(PARENT)).toHaveLength(1);
});
