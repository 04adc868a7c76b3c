import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createReadDirectories } from "../../../src/services/host/directories.ts";
import { createEngineSource, type StatusSource } from "../../../src/services/http/engine-source.ts";
import { createOpenDirectories } from "../../../src/services/http/status-api.ts";
import { createDisk, type Disk } from "../../fakes/disk.ts";
import { createFakeHost } from "../../fakes/fake-host.ts";
import { createStage, type Stage, stageWithTask } from "../../fakes/stage.ts";
import { createVirtualClock, settled } from "../../fakes/virtual-clock.ts";

const UNKNOWN = "ses_unknown";

const sourceOver = (...stages: Stage[]): StatusSource => {
  const sites = createOpenDirectories();
  for (const stage of stages) sites.add(stage);
  let asked = 0;
  const [stage] = stages;
  const createId = () => {
    asked += 1;
    return `request ${asked}`;
  };
  const clock = stage?.clock ?? createVirtualClock();
  return createEngineSource(sites, clock, createId, "/nowhere/worktrees", createReadDirectories(clock));
};

describe("what a person asks one process of a task that another one supervises", () => {
  let disk: Disk;
  /** The process that serves the status API. */
  let asking: Stage;
  let supervising: Stage;
  let source: StatusSource;

  beforeEach(() => {
    disk = createDisk();
    disk.keepAlive();
    const clock = createVirtualClock();
    const host = createFakeHost(clock);
    asking = createStage({ openStore: disk.boot, clock, host });
    supervising = createStage({ openStore: disk.boot, clock, host });
    source = sourceOver(asking);
  });
  afterEach(() => disk.remove());

  /** What it is answered, and after how many milliseconds. */
  const answered = async <T>(work: Promise<T>) => {
    const { clock } = asking;
    const begun = clock.now();
    let answer: { answer: T; after: number } | undefined;
    void work.then((result) => {
      answer = { answer: result, after: clock.now() - begun };
    });
    for (let waited = 0; !answer && waited < 60_000; waited += 100) await clock.advance(100);
    if (!answer) throw new Error("there is no answer");
    return answer;
  };

  test("cancels it there within two seconds, and its parent is notified", async () => {
    const id = await supervising.launch();
    const { answer, after } = await answered(source.cancel(id));
    expect(answer).toMatchObject({ ok: true, value: { sessionID: id, status: "cancelled" } });
    expect(after).toBeLessThanOrEqual(2_000);
    expect(supervising.engine.get(id)?.status).toBe("cancelled");
    await settled();
    expect(supervising.notices()).toHaveLength(1);
  });

  test("answers what it asks there", async () => {
    const id = await supervising.launch();
    const request = { id: "per_1", kind: "permission", what: "bash: ls", since: 0 } as const;
    supervising.host.emit({ type: "asked", sessionID: id, request });
    await settled();
    const { answer, after } = await answered(source.answer(id, { requestId: "per_1", reply: "once" }));
    expect(answer).toMatchObject({ ok: true, value: { sessionID: id, status: "running" } });
    expect(answer).not.toHaveProperty("value.attention");
    expect(after).toBeLessThanOrEqual(2_000);
    expect(supervising.host.answers).toEqual([{ id: "per_1", reply: "once" }]);
    const again = await answered(source.answer(id, { requestId: "per_1", reply: "once" }));
    expect(again.answer).toMatchObject({ ok: false, reason: expect.stringContaining("is not open") });
  });

  test("resumes it wherever it is at rest, and it is that process's from then on", async () => {
    const id = await supervising.complete("12");
    await supervising.clock.advance(1_000);
    const { answer } = await answered(source.resume(id, "And the tests?"));
    expect(answer).toMatchObject({ ok: true, value: { status: "resumed", resumeCount: 1 } });
    expect([asking, supervising].map(({ store }) => store.isOwnedElsewhere(id)).toSorted()).toEqual([false, true]);
    supervising.host.finish(id, "13");
    await supervising.clock.advance(6_000);
    expect(source.task(id)).toMatchObject({ status: "completed", result: "13" });
    expect(supervising.notices()).toHaveLength(2);
  });

  test("steers it there, in the user's name", async () => {
    const id = await supervising.launch();
    const { answer, after } = await answered(source.steer(id, "Only the tests."));
    expect(answer).toMatchObject({ ok: true, value: { sessionID: id, status: "running" } });
    expect(after).toBeLessThanOrEqual(2_000);
    await settled();
    const [given, ...more] = supervising.host.at(id).messages.filter(({ text }) => text.endsWith("Only the tests."));
    expect(given?.text).toContain("The user gives you a further instruction");
    expect(more).toEqual([]);
  });

  test("is done once, however often it is asked at the same time", async () => {
    const id = await supervising.launch();
    const both = await answered(Promise.all([source.cancel(id), source.cancel(id)]));
    expect(both.answer.map(({ ok }) => ok)).toContain(true);
    await settled();
    expect(supervising.notices()).toHaveLength(1);
  });

  test("says so when that process does not answer", async () => {
    const id = await supervising.launch();
    supervising.life.pause();
    // Its lease is not over yet when the person gives up.
    const { answer, after } = await answered(source.cancel(id));
    expect(answer).toMatchObject({ ok: false, reason: expect.stringContaining("has not answered within 15 s") });
    expect(after).toBeLessThan(16_000);
  });
});

test("a task that is cleared while a person asks for it is not shown as if it were there", async () => {
  const { stage, id } = await stageWithTask();
  const source = sourceOver(stage);
  const asked = source.cancel(id);
  await stage.engine.clear([id]);
  await stage.clock.advance(1_000);
  expect(await asked).toEqual({ ok: false, cause: "task", reason: `Task ${id} was cleared.` });
});

test("of two directories in one process, each does what is asked of its own tasks", async () => {
  const clock = createVirtualClock();
  const stages = [createStage({ clock }), createStage({ clock })];
  const source = sourceOver(...stages);
  const [, second] = stages;
  const id = (await second?.launch()) ?? "";
  expect(source.task(id)).toMatchObject({ sessionID: id, status: "running" });
  const asked = source.cancel(id);
  await clock.advance(1_000);
  expect(await asked).toMatchObject({ ok: true, value: { status: "cancelled" } });
});

test("where no directory is open, nothing is said to be empty", () => {
  const source = sourceOver();
  expect(() => source.stats()).toThrow("OpenCode has no directory open in this process.");
  expect(() => source.task(UNKNOWN)).toThrow("OpenCode has no directory open in this process.");
});
