import { expect, test } from "vitest";
import { createTurns } from "../../../src/services/runtime/observed-runs.ts";
import { createFakeHost, unavailable } from "../../fakes/fake-host.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";
import { createRecordingLog } from "../store/folder-and-log.ts";

const create = () => {
  const log = createRecordingLog();
  const host = createFakeHost(createVirtualClock());
  const turns = createTurns(host, log);
  host.addSession("ses_1");
  return { host, turns, log };
};

/** The id of the user message that the session's newest message answers. */
const prompted = ({ host }: ReturnType<typeof create>) => host.at("ses_1").messages.at(-1)?.promptID;

test("all steps that answer one user message are of its turn, and the host is not asked", async () => {
  const world = create();
  world.host.listen(world.turns.onHostEvent);
  world.host.beginStep("ses_1", "msg_step1");
  const first = await world.turns.turnOf("ses_1", "msg_step1");
  world.host.beginStep("ses_1", "msg_step2");
  expect(await world.turns.turnOf("ses_1", "msg_step2")).toBe(first);
  expect(first).toBe(prompted(world));
  expect(world.host.calls).toEqual([]);
});

test("the host is asked once for a message of which no event has come, by however many", async () => {
  const world = create();
  world.host.beginStep("ses_1", "msg_step1");
  const ask = () => world.turns.turnOf("ses_1", "msg_step1");
  expect(await Promise.all([ask(), ask(), ask()])).toEqual(Array(3).fill(prompted(world)));
  expect(world.host.calls).toEqual(["message"]);
});

test("another session's message of the same id is asked for by itself", async () => {
  const world = create();
  world.host.listen(world.turns.onHostEvent);
  world.host.beginStep("ses_1", "msg_step1");
  expect(await world.turns.turnOf("ses_2", "msg_step1")).toBeUndefined();
  expect(world.host.calls).toEqual(["message"]);
});

test("the turn of a message that the host does not show is not known", async () => {
  const { host, turns } = create();
  expect(await turns.turnOf("ses_1", "msg_unknown")).toBeUndefined();
  host.beginStep("ses_1", "msg_step1");
  host.failNext("message", unavailable);
  expect(await turns.turnOf("ses_1", "msg_step1")).toBeUndefined();
});

test("a fault in reading the message is logged, and the turn is not known", async () => {
  const { host, turns, log } = create();
  host.throwNext("message", "no such field");
  expect(await turns.turnOf("ses_1", "msg_step1")).toBeUndefined();
  expect(log.errors).toEqual([
    'it is not known in which turn a task is launched {"sessionID":"ses_1","messageID":"msg_step1","reason":"no such field"}',
  ]);
});

test("a session that was deleted is forgotten", async () => {
  const world = create();
  world.host.listen(world.turns.onHostEvent);
  world.host.beginStep("ses_1", "msg_step1");
  world.host.delete("ses_1");
  expect(await world.turns.turnOf("ses_1", "msg_step1")).toBeUndefined();
});

test("of many sessions those that spoke last are remembered", async () => {
  const world = create();
  for (let n = 0; n <= 1_000; n += 1) {
    world.host.addSession(`ses_${n}`);
    world.host.listen(world.turns.onHostEvent);
    world.host.beginStep(`ses_${n}`, `msg_of_${n}`);
  }
  await world.turns.turnOf("ses_1", "msg_of_1");
  expect(world.host.calls).toEqual([]);
  await world.turns.turnOf("ses_0", "msg_of_0");
  expect(world.host.calls).toEqual(["message"]);
});

test("what a session does otherwise, and what its user writes, leaves its turn known", async () => {
  const world = create();
  world.host.listen(world.turns.onHostEvent);
  world.host.beginStep("ses_1", "msg_step1");
  const turn = prompted(world);
  world.host.emit({ type: "idle", sessionID: "ses_1" });
  const [written] = world.host.at("ses_1").messages;
  if (!written) throw new Error("its user has written nothing");
  world.host.emit({ type: "message", sessionID: "ses_1", message: { ...written, id: "msg_later" } });
  expect(await world.turns.turnOf("ses_1", "msg_step1")).toBe(turn);
  expect(world.host.calls).toEqual([]);
});

test("the tasks of one turn are a batch that is named after it, and those of an unknown turn one named after their message", async () => {
  const world = create();
  world.host.listen(world.turns.onHostEvent);
  for (const step of ["msg_step1", "msg_step2"]) world.host.beginStep("ses_1", step);
  const turn = prompted(world) ?? "none";
  expect(turn).toMatch(/^msg_/);
  expect(await world.turns.batchOf("ses_1", "msg_step2")).toBe(`batch_${turn.slice("msg_".length)}`);
  expect(await world.turns.batchOf("ses_1", "msg_unknown")).toBe("batch_unknown");
});
