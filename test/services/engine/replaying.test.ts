import { afterEach, beforeEach, expect, test } from "vitest";
import { replay } from "../../../src/machines/task/replay.ts";
import { snapshotDifferences } from "../../../src/services/replay/differences.ts";
import { loadSqlite } from "../../../src/services/store/sqlite/driver.ts";
import { openJournalReader } from "../../../src/services/store/sqlite/journal-reader.ts";
import { createDurableStage } from "../../fakes/durable-stage.ts";
import { createFakeProcess } from "../../fakes/fake-process.ts";
import { PARENT } from "../../fakes/stage.ts";
import { settled } from "../../fakes/virtual-clock.ts";

const openDatabase = loadSqlite({ readonly: true });

let stage: ReturnType<typeof createDurableStage>;

beforeEach(() => {
  stage = createDurableStage();
});

afterEach(() => stage.engine.stop());

/** Replays every task in the file, and returns the names of the events of all of them. */
const expectExact = (): Set<string> => {
  const journals = openJournalReader(stage.disk.path, openDatabase);
  try {
    const seen = new Set<string>();
    for (const { id } of journals.newest(100)) {
      const { origin, events, snapshot } = journals.journal(id) ?? {};
      if (!origin || !events || !snapshot) throw new Error(`${id} has no whole journal`);
      const replayed = replay(origin, events);
      expect(replayed.steps.filter(({ refused }) => refused !== undefined)).toEqual([]);
      expect(snapshotDifferences(replayed.snapshot, snapshot)).toEqual([]);
      for (const { type } of events) seen.add(type);
    }
    return seen;
  } finally {
    journals.close();
  }
};

const pass = (ms = 5_000) => stage.clock.advance(ms);

test("a task that is answered, delivered, resumed twice and cancelled replays exactly", async () => {
  const id = await stage.launch();
  expectExact();
  stage.host.finish(id, "12");
  await pass();
  await stage.call("task", { resume: id, prompt: "And now?" });
  await settled();
  stage.host.finish(id, "13");
  await pass();
  await stage.call("output", { task_id: id });
  await stage.call("task", { resume: id, prompt: "Once more." });
  await pass(100);
  await stage.call("cancel", { task_id: id });
  await pass();
  const seen = expectExact();
  for (const type of ["CHECKED_ANSWERED", "RESUME", "RESULT_READ", "CANCEL", "STOPPED", "NOTICE_ACKNOWLEDGED"]) {
    expect(seen).toContain(type);
  }
});

test("so do one that fails, one whose session is deleted, and one that is not heard of", async () => {
  const failing = await stage.launch();
  stage.host.fail(failing, { name: "APIError", message: "401" });
  const deleted = await stage.launch();
  stage.host.delete(deleted);
  stage.host.emit({ type: "deleted", sessionID: deleted });
  await stage.launch();
  await pass(700_000);
  const seen = expectExact();
  for (const type of ["HOST_ERROR", "CHECKED_FAILED", "SESSION_DELETED", "BECAME_STALE"]) expect(seen).toContain(type);
});

test("so does one that asks a person", async () => {
  const id = await stage.launch();
  for (const kind of ["permission", "question"] as const) {
    const request = { id: kind, kind, what: "May I?", since: stage.clock.now() };
    stage.host.emit({ type: "asked", sessionID: id, request });
  }
  await settled();
  expectExact();
  stage.host.emit({ type: "replied", sessionID: id, requestID: "permission" });
  await settled();
  stage.host.finish(id, "12");
  await pass();
  expect(expectExact()).toContain("REQUEST_ANSWERED");
});

test("so do tasks that a tool waits for, whether its answer arrives or not", async () => {
  for (const end of ["stored", "failed"] as const) {
    const callID = `call_${end}`;
    const id = await stage.launch();
    const read = stage.call("output", { task_id: id, block: true }, { callID });
    await settled();
    await stage.finish(id, "12");
    await read;
    stage.host.emit({ type: "toolCall", sessionID: PARENT, callID, tool: "asyncagents_output", stage: end });
    await pass();
  }
  const seen = expectExact();
  for (const type of ["WAIT_BEGAN", "WAIT_DELIVERED", "WAIT_ABANDONED"]) expect(seen).toContain(type);
});

test("so does a task that is taken over, at whichever call to the host or the store its process died", async () => {
  const play = async (life = createFakeProcess()) => {
    stage.engine.stop();
    stage.disk.remove();
    stage = createDurableStage({ life });
    void stage.launch().catch(() => undefined);
    await pass(1_000);
    const [id] = stage.host.sessionIDs().filter((session) => session !== PARENT);
    if (id && stage.host.at(id).busy) stage.host.finish(id, "12");
    await pass();
    return stage.life.points.length;
  };
  const points = await play();
  expect(points).toBeGreaterThan(20);
  const seen = new Set<string>();
  for (let death = 1; death <= points; death += 1) {
    await play(createFakeProcess(death));
    await stage.restart();
    await pass(60_000);
    for (const type of expectExact()) seen.add(type);
  }
  for (const type of ["ADOPTED", "CHECKED_UNANSWERED"]) expect(seen).toContain(type);
});
