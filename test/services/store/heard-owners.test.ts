import { expect, test } from "vitest";
import {
  createHeardOwners,
  HEARTBEAT_MS,
  type KnownOwner,
  LEASE_MS,
  STEADY_MS,
} from "../../../src/services/store/ownership.ts";
import { START, scriptTask } from "./scripted-task.ts";
import { createSharedDatabase } from "./shared-database.ts";

const all = () => true;
const HOUR = 3_600_000;

type Shared = ReturnType<typeof createSharedDatabase>;

/** Has processes show that they live, by their own clocks, for so many milliseconds; the last one looks for what is free. */
const live = async (
  { clock }: Shared,
  ms: number,
  beats: readonly (() => unknown)[],
  look: () => { tasks: readonly unknown[] },
) => {
  let taken = 0;
  for (let passed = 0; passed < ms; passed += HEARTBEAT_MS) {
    await clock.advance(HEARTBEAT_MS);
    for (const beat of beats) beat();
    taken += look().tasks.length;
  }
  return taken;
};

test.each([
  ["an hour behind", -HOUR],
  ["a minute behind", -60_000],
  ["an hour ahead", HOUR],
])("a process of another machine keeps its tasks for as long as it lives, be its clock %s", async (_, off) => {
  const file = createSharedDatabase();
  const { clock } = file;
  const a = file.openAs("a", { machine: "there" }).store;
  const b = file.openAs("b").store;
  a.commit(scriptTask("ses_1").launch());
  const look = () => {
    b.heartbeat(clock.now());
    return b.adopt(clock.now(), all);
  };
  const beat = () => a.heartbeat(clock.now() + off);
  expect(await live(file, 5 * LEASE_MS, [beat], look)).toBe(0);
  expect(b.otherSupervisor("ses_1")?.heartbeatAt).toBe(clock.now());
});

test("the tasks of a process of another machine that is silent are taken over a lease later, be its clock an hour ahead", async () => {
  const file = createSharedDatabase();
  const { clock } = file;
  const a = file.openAs("a", { machine: "there" }).store;
  const b = file.openAs("b").store;
  a.commit(scriptTask("ses_1").launch());
  a.heartbeat(clock.now() + HOUR);
  const look = () => {
    b.heartbeat(clock.now());
    return b.adopt(clock.now(), all);
  };
  expect(await live(file, LEASE_MS, [], look)).toBe(0);
  expect(await live(file, 2 * HEARTBEAT_MS, [], look)).toBe(1);
});

test("a process of this machine that is stopped when the clock is set back by an hour is waited for no hour longer", async () => {
  const file = createSharedDatabase();
  const { clock } = file;
  const a = file.openAs("a").store;
  const b = file.openAs("b").store;
  a.commit(scriptTask("ses_1").launch());
  a.heartbeat(clock.now() + HOUR);
  const look = () => {
    b.heartbeat(clock.now());
    return b.adopt(clock.now(), all);
  };
  expect(await live(file, LEASE_MS + STEADY_MS + HEARTBEAT_MS, [], look)).toBe(1);
});

test("a process that starts while the clock is set back keeps its tasks when the clock is set forward before anybody's next heartbeat", async () => {
  const file = createSharedDatabase();
  const { clock } = file;
  const b = file.openAs("b").store;
  const look = () => {
    b.heartbeat(clock.now());
    return b.adopt(clock.now(), all);
  };
  expect(await live(file, 3 * HEARTBEAT_MS, [], look)).toBe(0);
  const a = file.openAs("a").store;
  a.commit(scriptTask("ses_1").launch());
  a.heartbeat(clock.now() - 2 * LEASE_MS);
  expect(await live(file, HEARTBEAT_MS, [], look)).toBe(0);
  expect(await live(file, 2 * LEASE_MS, [() => a.heartbeat(clock.now())], look)).toBe(0);
});

test("what is heard while the clock is set back, before a heartbeat of its own has shown that, is no sign of silence later", () => {
  const { hear } = createHeardOwners({ machine: "here" });
  const owner: KnownOwner = { id: "a", pid: 1, machine: "there", directory: "/", startedAt: 1, heartbeatAt: START };
  const since = START;
  expect(hear(owner, { now: START + HEARTBEAT_MS, since }).heartbeatAt).toBe(START + HEARTBEAT_MS);
  const beat = { ...owner, heartbeatAt: START + HEARTBEAT_MS };
  expect(hear(beat, { now: START - LEASE_MS, since }).heartbeatAt).toBe(START - LEASE_MS);
  const caughtUp = START + 2 * HEARTBEAT_MS;
  expect(hear(beat, { now: caughtUp, since }).heartbeatAt).toBe(caughtUp);
});

test("of a process of this machine, the time of its last heartbeat counts, also for one that has just started", () => {
  const file = createSharedDatabase();
  file.openAs("a").store.commit(scriptTask("ses_1").launch());
  const b = file.openAs("b").store;
  expect(b.adopt(START + LEASE_MS, all).tasks).toHaveLength(0);
  expect(b.adopt(START + LEASE_MS + 1, all).tasks).toHaveLength(1);
});

test("what was noted of others before this process slept, or its clock was set, is not held against them", async () => {
  const file = createSharedDatabase();
  const { clock } = file;
  const a = file.openAs("a", { machine: "there" }).store;
  const b = file.openAs("b").store;
  a.commit(scriptTask("ses_1").launch());
  const look = () => {
    b.heartbeat(clock.now());
    return b.adopt(clock.now(), all);
  };
  expect(look().tasks).toHaveLength(0);
  await clock.advance(HOUR);
  expect(await live(file, LEASE_MS - HEARTBEAT_MS, [], look)).toBe(0);
  a.heartbeat(clock.now());
  expect(await live(file, LEASE_MS, [], look)).toBe(0);
});

test("a process of this machine keeps its tasks when the clock is set back and, right after its heartbeat, forward again", async () => {
  const file = createSharedDatabase();
  const { clock } = file;
  const a = file.openAs("a").store;
  const b = file.openAs("b").store;
  a.commit(scriptTask("ses_1").launch());
  const look = () => {
    b.heartbeat(clock.now());
    return b.adopt(clock.now(), all);
  };
  const beat = () => a.heartbeat(clock.now());
  expect(await live(file, LEASE_MS, [beat], look)).toBe(0);
  await clock.advance(HEARTBEAT_MS);
  a.heartbeat(clock.now() - HOUR);
  expect(look().tasks).toHaveLength(0);
  expect(await live(file, LEASE_MS, [beat], look)).toBe(0);
});
