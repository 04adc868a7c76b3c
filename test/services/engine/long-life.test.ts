/** @module-tag nightly */
import { afterEach, beforeEach, expect, test } from "vitest";
import { replay } from "../../../src/machines/task/replay.ts";
import { snapshotDifferences } from "../../../src/services/replay/differences.ts";
import { loadSqlite } from "../../../src/services/store/sqlite/driver.ts";
import { readJournal } from "../../../src/services/store/sqlite/journal-reader.ts";
import { createDurableStage } from "../../fakes/durable-stage.ts";
import { PARENT } from "../../fakes/stage.ts";
import { trackCollections } from "../../fakes/tracked-collections.ts";

/** Runs after the launch: more than two digits, and as many again as a count of two is flat over. */
const RUNS = 100;

let stage: ReturnType<typeof createDurableStage>;

beforeEach(() => {
  stage = createDurableStage();
});

afterEach(() => stage.engine.stop());

const resultOf = (run: number) => `The result of run ${run}.`;

/** Resumes the task, has it work, ask a person, be steered, and answer, and waits until its parent has read the result. */
const runAgain = async (id: string, run: number) => {
  const { host, clock } = stage;
  await stage.call("task", { resume: id, prompt: `Go on with ${run}.` });
  await clock.advance(100);
  await stage.call("task", { steer: id, prompt: `Mind ${run}.` });
  await clock.advance(100);
  const request = { id: `per_${run}`, kind: "permission", what: "may it?", since: clock.now() } as const;
  host.emit({ type: "asked", sessionID: id, request });
  host.emit({ type: "replied", sessionID: id, requestID: request.id });
  host.step(id);
  host.finish(id, resultOf(run));
  await clock.advance(3_000);
};

const begin = async () => {
  const id = await stage.launch();
  stage.host.finish(id, resultOf(0));
  await stage.clock.advance(3_000);
  return id;
};

test("each of a hundred runs of one task in one process is delivered once, and its journal, its list and its ids are right", async () => {
  const id = await begin();
  for (let run = 1; run <= RUNS; run += 1) await runAgain(id, run);

  const notices = stage.notices().map((parts) => parts.map(({ text }) => text).join("\n"));
  expect(notices).toHaveLength(RUNS + 1);
  for (let run = 0; run <= RUNS; run += 1) {
    expect(notices.filter((text) => text.includes(resultOf(run)))).toHaveLength(1);
  }
  expect(stage.task(id)).toMatchObject({ status: "completed", resumeCount: RUNS, result: resultOf(RUNS) });
  expect(stage.store.list({})).toMatchObject([{ sessionID: id, resumeCount: RUNS, status: "completed" }]);
  expect(stage.store.countOf(PARENT)).toBe(1);

  const sent = [...stage.host.at(id).parts.keys(), ...stage.host.at(PARENT).parts.keys()];
  expect(new Set(sent).size).toBe(sent.length);
  const parts = [...stage.host.at(id).parts.values()].flat().map((part) => part.id);
  expect(new Set(parts).size).toBe(parts.length);

  const database = loadSqlite()(stage.disk.path);
  const journal = readJournal(database, id);
  database.close();
  const stored = stage.store.get(id)?.snapshot;
  if (!journal?.origin || !stored) throw new Error("the task has no whole journal");
  const replayed = replay(journal.origin, journal.events);
  expect(journal.events.filter(({ type }) => type === "RESUME")).toHaveLength(RUNS);
  expect(replayed.steps.filter(({ refused }) => refused !== undefined)).toEqual([]);
  expect(snapshotDifferences(replayed.snapshot, stored)).toEqual([]);
});

test("a process that lives through a hundred runs of a task keeps nothing of those that are over: no listener, entry or timer", async () => {
  const { clock, host } = stage;
  const entries = trackCollections();
  stage = createDurableStage({ clock, host });
  const id = await begin();
  // The conversations, which the host keeps.
  const ofHost = new Set([id, PARENT].map((session) => host.at(session).parts));
  const living = async () => ({ entries: await entries(ofHost), timers: clock.pending() });
  for (let run = 1; run <= RUNS / 2; run += 1) await runAgain(id, run);
  const half = await living();
  for (let run = RUNS / 2 + 1; run <= RUNS; run += 1) await runAgain(id, run);
  // What each run would leave is there once for each: some entries more or fewer are of what is being collected.
  const [left, noise] = [RUNS / 2, RUNS / 4];
  const whole = await living();
  expect(whole.timers).toBe(half.timers);
  expect(whole.entries).toBeLessThan(half.entries + noise);

  // That it would be seen: as many listeners that stay.
  for (let run = 0; run < left; run += 1) stage.engine.subscribe(() => undefined);
  expect((await living()).entries).toBeGreaterThan(half.entries + noise);
});
