import { expect, test } from "vitest";
import { replayLaunch } from "../../../../src/machines/launch/replay.ts";
import type { TaskInput } from "../../../../src/machines/task/events.ts";
import { replay } from "../../../../src/machines/task/replay.ts";
import { parseExportedJournal, serialize } from "../../../../src/services/replay/export-file.ts";
import { createMemory } from "../../../fakes/disk.ts";
import { refused } from "../../../fakes/fake-host.ts";
import { createStage, PARENT } from "../../../fakes/stage.ts";

const setUp = () => {
  const memory = createMemory();
  const stage = createStage({ openStore: memory.boot });
  const journalOf = (id: string) => {
    const journal = memory.journal(id);
    if (!journal?.origin) throw new Error(`the task ${id} has no whole journal`);
    return { ...journal, origin: journal.origin };
  };
  return { stage, journalOf };
};

/** The steps of a task's launch, as they can be read of its journal. */
const launchOf = ({ origin }: { origin: TaskInput }): string[] => {
  const { launch, run, facts } = origin;
  if (!launch) throw new Error("it is not known how the task was launched");
  return replayLaunch(launch, run.messageID, facts.parentSessionID).map(({ event, to }) => `${event.type} ${to}`);
};

test("how a task was launched is kept with it, and replays to where its own journal begins", async () => {
  const { stage, journalOf } = setUp();
  const id = await stage.launch();
  const journal = journalOf(id);
  expect(launchOf(journal)).toEqual([
    "TURN_TAKEN preparing.creating.requesting",
    "SESSION_CREATED starting",
    "TASK_STARTED started",
  ]);
  expect(replay(journal.origin, journal.events).snapshot).toEqual(journal.snapshot);
});

test("of a fork that OpenCode refused it says what became of the copy, and nothing of what was said in it", async () => {
  const { stage, journalOf } = setUp();
  stage.host.converse(PARENT);
  stage.host.failNext("forkedMessages", refused);
  const id = await stage.launch({ fork: true });
  const { origin } = journalOf(id);
  expect(launchOf({ origin })).toEqual([
    "TURN_TAKEN preparing.creating.requesting",
    "SESSION_CREATED preparing.creating.cutting",
    "PREPARATION_FAILED preparing.creating.removingCopy",
    "SESSIONS_REMOVED preparing.creating.readingConversation",
    "CONVERSATION_READ preparing.creating.requesting",
    "SESSION_CREATED preparing.creating.informing.storing",
    "PREAMBLE_STORED starting",
    "TASK_STARTED started",
  ]);
  expect(JSON.stringify(origin.launch)).not.toContain("I see.");
});

test("it is stored in the transaction that stores the task, and takes some 200 bytes", async () => {
  const { stage, journalOf } = setUp();
  const changes: number[] = [];
  const { commit } = stage.store;
  stage.store.commit = (change) => {
    changes.push(change.launches?.size ?? 0);
    return commit(change);
  };
  const id = await stage.launch();
  expect(changes.filter((launches) => launches > 0)).toEqual([1]);
  expect(JSON.stringify(journalOf(id).origin.launch).length).toBeLessThan(250);
});

test("it outlives the process, and an exported journal without text has it", async () => {
  const { stage, journalOf } = setUp();
  const id = await stage.launch();
  const before = launchOf(journalOf(id));
  await stage.restart();
  await stage.clock.advance(1_000);
  expect(launchOf(journalOf(id))).toEqual(before);
  const facts = { exportedAt: "2026-11-26T00:00:00.000Z", plugin: "0.1.0", schema: 1, hasText: false };
  const read = parseExportedJournal(serialize(journalOf(id), facts));
  if ("wrong" in read || !read.journal.origin) throw new Error("it is no journal");
  expect(launchOf({ origin: read.journal.origin })).toEqual(before);
});
