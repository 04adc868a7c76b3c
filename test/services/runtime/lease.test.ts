import { expect, test } from "vitest";
import type { TaskEvent } from "../../../src/machines/task/events.ts";
import { createEventBus } from "../../../src/services/platform/listeners.ts";
import type { EngineEvents } from "../../../src/services/runtime/effects.ts";
import { createProgressLog } from "../../../src/services/runtime/progress.ts";
import { createRuntime } from "../../../src/services/runtime/runtime.ts";
import { LEASE_MS } from "../../../src/services/store/ownership.ts";
import { createMemory } from "../../fakes/disk.ts";
import { createFakeEffects } from "../../fakes/effects.ts";
import { createVirtualClock } from "../../fakes/virtual-clock.ts";
import { createRecordingLog } from "../store/folder-and-log.ts";
import { START, scriptTask } from "../store/scripted-task.ts";

/** A runtime with one task at work, `ses_1`. `lose` has the next heartbeat show that another process has it. */
const setUp = () => {
  const clock = createVirtualClock(START);
  let stepBack = 0;
  const steppingClock = { ...clock, now: () => clock.now() - stepBack };
  const memory = createMemory();
  memory.keepAlive();
  const [store, other] = [memory.boot(clock), memory.boot(clock)];
  const log = createRecordingLog();
  const asked: string[] = [];
  const bus = createEventBus<EngineEvents>(log);
  const losses: unknown[] = [];
  bus.on("tasksLost", (tasks) => void losses.push(tasks));
  const runtime = createRuntime({
    ...{ clock: steppingClock, store, log },
    bus,
    progress: createProgressLog(),
    effects: createFakeEffects((effect) => {
      asked.push(effect.type);
      return undefined;
    }),
  });
  const task = scriptTask("ses_1");
  store.commit(task.launch());
  runtime.restore(task.record());
  const heartbeats: number[] = [];
  const lost: string[] = [];
  store.heartbeat = (now) => {
    heartbeats.push(now);
    return lost.splice(0);
  };
  const send = (event: object) => runtime.send("ses_1", { at: clock.now(), ...event } as TaskEvent);
  return {
    ...{ clock, store, other, runtime, asked, heartbeats, losses, send },
    lose: () => void lost.push("ses_1"),
    setClockBack: (ms: number) => {
      stepBack = ms;
    },
  };
};

test("the lease is renewed by the first event after it, and then not for as long again", async () => {
  const { clock, heartbeats, send } = setUp();
  await clock.sleep(LEASE_MS + 1);
  for (let event = 0; event < 2; event += 1) send({ type: "HOST_IDLE" });
  await clock.sleep(LEASE_MS);
  send({ type: "HOST_IDLE" });
  expect(heartbeats).toEqual([START + LEASE_MS + 1]);
});

test("a heartbeat renews the lease", async () => {
  const { clock, runtime, heartbeats, losses, send } = setUp();
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
  const { heartbeats, setClockBack, send } = setUp();
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
  const { clock, runtime, heartbeats, lose } = setUp();
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

test("a task is lost that goes on elsewhere, or was removed there; not one that lives here, or has ended", () => {
  const { runtime, store, other } = setUp();
  store.commit(scriptTask("ses_ended").whole());
  other.commit(scriptTask("ses_elsewhere").launch());
  const ids = ["ses_1", "ses_ended", "ses_elsewhere", "ses_removed"];
  expect(ids.map(runtime.isLost)).toEqual([false, false, true, true]);
});

test("an instruction is being sent as long as its task wants it, and the process runs", () => {
  const { runtime, send } = setUp();
  send({ type: "STEER", messageID: "msg_3", partID: "prt_3", prompt: "Only the tests." });
  expect(runtime.instructionBeingSent("ses_1")).toBe("msg_3");
  expect(runtime.runBeingSent("ses_1")).toBeUndefined();
  expect(runtime.instructionBeingSent("ses_2")).toBeUndefined();
  runtime.stop();
  expect(runtime.instructionBeingSent("ses_1")).toBeUndefined();
});
