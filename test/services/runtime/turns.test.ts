import { expect, test } from "vitest";
import { createTurns } from "../../../src/services/runtime/observed-runs.ts";
import { createFakeHost, unavailable } from "../../fakes/fake-host.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";

const create = () => {
  const logged: string[] = [];
  const log = { info: () => undefined, error: (message: string) => void logged.push(message) };
  const host = createFakeHost(createVirtualClock());
  const turns = createTurns(host, log);
  host.addSession("ses_1");
  return { host, turns, logged };
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
  const { host, turns, logged } = create();
  host.throwNext("message", "no such field");
  expect(await turns.turnOf("ses_1", "msg_step1")).toBeUndefined();
  expect(logged).toEqual(["it is not known in which turn a task is launched"]);
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
