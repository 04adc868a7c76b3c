import { expect, test } from "vitest";
import { LEASE_MS } from "../../../src/services/store/ownership.ts";
import { START, scriptTask } from "../store/scripted-task.ts";
import { testRuntime } from "./test-runtime.ts";

/** A runtime with one task at work, `ses_1`. `lose` has the next heartbeat show that another process has it. */
const setUp = () => {
  let stepBack = 0;
  const world = testRuntime({ setBack: () => stepBack });
  const { clock, store, bus, send, restore } = world;
  const losses: unknown[] = [];
  bus.on("tasksLost", (tasks) => void losses.push(tasks));
  restore("ses_1");
  const heartbeats: number[] = [];
  const lost: string[] = [];
  store.heartbeat = (now) => {
    heartbeats.push(now);
    return lost.splice(0);
  };
  return {
    ...{ ...world, heartbeats, losses },
    send: (event: object) => send("ses_1", { at: clock.now(), ...event }),
    lose: () => void lost.push("ses_1"),
    setClockBack: (ms: number) => {
      stepBack = ms;
    },
  };
};

test("the lease is renewed by the first event after it, and then not for as long again", async () => {
  const { clock, send, heartbeats } = setUp();
  await clock.sleep(LEASE_MS + 1);
  for (let event = 0; event < 2; event += 1) send({ type: "HOST_IDLE" });
  await clock.sleep(LEASE_MS);
  send({ type: "HOST_IDLE" });
  expect(heartbeats).toEqual([START + LEASE_MS + 1]);
});

test("a heartbeat renews the lease", async () => {
  const { clock, runtime, send, heartbeats, losses } = setUp();
  await clock.sleep(LEASE_MS);
  runtime.heartbeat();
  await clock.sleep(LEASE_MS);
  send({ type: "HOST_IDLE" });
  runtime.renewLease();
  expect(heartbeats).toEqual([START + LEASE_MS]);
  await clock.sleep(1);
  runtime.renewLease();
  expect(heartbeats).toEqual([START + LEASE_MS, START + 2 * LEASE_MS + 1]);
  expect(losses).toEqual([]);
});

test("a clock that was set back by more than the lease says nothing of how long ago the heartbeat was", () => {
  const { send, heartbeats, setClockBack } = setUp();
  setClockBack(LEASE_MS);
  send({ type: "HOST_IDLE" });
  expect(heartbeats).toEqual([]);
  setClockBack(LEASE_MS + 1);
  send({ type: "HOST_IDLE" });
  expect(heartbeats).toEqual([START - LEASE_MS - 1]);
});

test("a deadline that comes after a pause is none of a task that was lost meanwhile", async () => {
  const { clock, asked, send, lose } = setUp();
  send({ type: "HOST_IDLE" });
  const error = { name: "Unreachable", kind: "host", message: "connection refused" };
  send({ type: "CHECK_FAILED", checkId: 1, error });
  const before = [...asked];
  lose();
  await clock.sleep(LEASE_MS + 1);
  expect(asked).toEqual(before);
});

test("work that asks whether a task is still this process's looks first what was lost, until the process stops", async () => {
  const { clock, runtime, lose, heartbeats } = setUp();
  expect([runtime.isStillOurs("ses_1"), runtime.isStillOurs("ses_2")]).toEqual([true, false]);
  await clock.sleep(LEASE_MS + 1);
  lose();
  expect(runtime.isStillOurs("ses_1")).toBe(false);
  expect(heartbeats).toHaveLength(1);
  await clock.sleep(LEASE_MS + 1);
  runtime.stop();
  runtime.renewLease();
  runtime.dispatch({ type: "HOST", at: clock.now(), event: { type: "idle", sessionID: "ses_1" } });
  expect([runtime.isStillOurs("ses_1"), heartbeats.length]).toEqual([false, 1]);
});

test("what is done once is preceded by a look at what was lost a moment ago, until the process stops", () => {
  const { runtime, lose, heartbeats } = setUp();
  expect([runtime.confirmOurs("ses_1"), runtime.confirmOurs("ses_2"), heartbeats.length]).toEqual([true, false, 2]);
  lose();
  expect([runtime.isStillOurs("ses_1"), runtime.confirmOurs("ses_1")]).toEqual([true, false]);
  runtime.stop();
  runtime.confirmOurs("ses_1");
  expect(heartbeats).toHaveLength(3);
});

test("a task is lost that goes on elsewhere, or was removed there; not one that lives here, or has ended", () => {
  const { store, other, runtime } = setUp();
  store.commit(scriptTask("ses_ended").whole());
  other.commit(scriptTask("ses_elsewhere").launch());
  const ids = ["ses_1", "ses_ended", "ses_elsewhere", "ses_removed"];
  expect(ids.map(runtime.isLost)).toEqual([false, false, true, true]);
});

test("an instruction is being sent as long as its task wants it, and the process runs", () => {
  const { runtime, send } = setUp();
  send({
    type: "STEER",
    messageID: "msg_3",
    partID: "prt_3",
    prompt: "Only the tests.",
    text: "Only the tests.",
    from: "agent",
  });
  expect(runtime.instructionBeingSent("ses_1")).toBe("msg_3");
  expect(runtime.runBeingSent("ses_1")).toBeUndefined();
  expect(runtime.instructionBeingSent("ses_2")).toBeUndefined();
  runtime.stop();
  expect(runtime.instructionBeingSent("ses_1")).toBeUndefined();
});

test("a run is being sent from its launch until OpenCode has taken its prompt", () => {
  const { runtime, launch, send } = testRuntime();
  expect(runtime.runBeingSent("ses_1")).toBeUndefined();
  launch();
  expect(runtime.runBeingSent("ses_1")).toBe(runtime.snapshotOf("ses_1")?.context.run.messageID);
  send("ses_1", { type: "PROMPT_ACCEPTED" });
  expect(runtime.runBeingSent("ses_1")).toBeUndefined();
});
