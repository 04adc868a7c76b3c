import { expect, test } from "vitest";
import { LEASE_MS } from "../../../src/services/store/ownership.ts";
import { createMemory } from "../../fakes/disk.ts";
import { createFakeHost, type FakeSession, unavailable } from "../../fakes/fake-host.ts";
import { createSharedSessionFile } from "../../fakes/session-file.ts";
import { createStage, PARENT } from "../../fakes/stage.ts";
import { createVirtualClock, settled, type VirtualClock } from "../../fakes/virtual-clock.ts";
import { watched } from "../../fakes/watched.ts";

/** Two OpenCode processes with the same sessions and the same store. */
const twoProcesses = () => {
  const clock = createVirtualClock();
  const memory = createMemory();
  memory.keepAlive();
  const file = createSharedSessionFile<FakeSession>();
  const open = (of = clock) =>
    createStage({ clock: of, openStore: memory.boot, host: createFakeHost(clock, undefined, file) });
  return { clock, open };
};

/** The clock of a process whose timers do not fire any more once it is stopped. */
const stoppable = (clock: VirtualClock) => {
  let isStopped = false;
  const stop = () => {
    isStopped = true;
  };
  return { ...clock, after: (ms: number, fire: () => void) => clock.after(ms, () => isStopped || fire()), stop };
};

const noticesTo = (parent: string, { host }: ReturnType<typeof createStage>): string[] =>
  host.attempts.flatMap(({ sessionID, messageID }) => (sessionID === parent ? messageID : []));

test("a process that was stopped does not send the notice that another one has delivered for it", async () => {
  const { clock, open } = twoProcesses();
  const [first, second] = [open(), open()];
  const id = await first.launch();
  first.host.failNext("prompt", unavailable);
  await first.finish(id, "done");
  expect(noticesTo(PARENT, first)).toHaveLength(1);
  first.life.pause();
  await clock.advance(2 * LEASE_MS);
  expect(noticesTo(PARENT, second)).toEqual(noticesTo(PARENT, first));
  // The parent goes on: if the notice were sent again now, it would be answered again.
  second.host.converse(PARENT);
  first.life.wake();
  await clock.advance(120_000);
  expect(noticesTo(PARENT, first)).toHaveLength(1);
  expect(first.engine.get(id)?.state).toBe("completed");
});

test("nor does it when the first thing that it hears on waking is that the host has no such message", async () => {
  const { clock, open } = twoProcesses();
  const clockOfFirst = stoppable(clock);
  const [first, second] = [open(clockOfFirst), open()];
  const id = await first.launch();
  first.host.habits(PARENT, "lose", "reply");
  const wakes = Promise.withResolvers<void>();
  const { message } = first.host;
  first.host.message = async (...asked) => {
    const answer = await message(...asked);
    clockOfFirst.stop();
    await wakes.promise;
    return answer;
  };
  first.host.finish(id, "done");
  await clock.advance(2 * LEASE_MS);
  expect(noticesTo(PARENT, second)).toEqual(noticesTo(PARENT, first));
  wakes.resolve();
  await settled();
  expect(noticesTo(PARENT, first)).toHaveLength(1);
});

test("a process that was stopped still delivers the ends of tasks that it launches after that", async () => {
  const { clock, open } = twoProcesses();
  const [first, second] = [open(), open()];
  const id = await first.launch();
  first.host.failNext("prompt", unavailable);
  await first.finish(id, "done");
  first.life.pause();
  await clock.advance(2 * LEASE_MS);
  expect(noticesTo(PARENT, second)).toHaveLength(1);
  first.life.wake();
  await settled();
  const next = await first.launch();
  first.host.finish(next, "done, too");
  await clock.advance(5_000);
  expect(
    first
      .notices()
      .flat()
      .filter(({ text }) => text.includes(next)),
  ).toHaveLength(1);
  expect(noticesTo(PARENT, first)).toHaveLength(2);
});

test("a process that was stopped while a prompt was on its way stops what the prompt begins, for another one does that work", async () => {
  const { clock, open } = twoProcesses();
  const [first, second] = [open(), open()];
  const onItsWay = first.host.holdNext("prompt");
  const id = await first.launch();
  first.life.pause();
  await clock.advance(2 * LEASE_MS);
  expect(second.host.at(id).busy).toBe(true);
  first.life.wake();
  await settled();
  onItsWay.release();
  await clock.advance(5_000);
  expect(first.host.at(id).busy).toBe(false);
  second.host.finish(id, "done");
  await clock.advance(1_000);
  expect(second.task(id)).toMatchObject({ status: "completed", result: "done" });
});

test("a process that was stopped while a notice to a task was on its way stops what the notice begins", async () => {
  const { clock, open } = twoProcesses();
  const [first, second] = [open(), open()];
  const id = await first.launch();
  const below = await first.launch({}, { sessionID: id });
  const onItsWay = first.host.holdNext("prompt");
  await first.finish(below, "found");
  first.life.pause();
  await clock.advance(2 * LEASE_MS);
  expect(second.host.at(id).busy).toBe(true);
  first.life.wake();
  await settled();
  expect(first.host.at(id).busy).toBe(false);
  onItsWay.release();
  await clock.advance(5_000);
  expect(first.host.at(id).busy).toBe(false);
});

/** The messages that delivered an end to a parent. */
const endsTo = (parent: string, { host }: ReturnType<typeof createStage>): string[] => [
  ...new Set(
    host.attempts.flatMap(({ sessionID, messageID, parts }) =>
      sessionID === parent && parts.some(({ text }) => text.includes("THE END")) ? messageID : [],
    ),
  ),
];

/** A call of the parent's agent that waits for a task of the first process, which is stopped until the second has the task. */
const waitingWhileStopped = async () => {
  const { clock, open } = twoProcesses();
  const [first, second] = [open(), open()];
  const id = await first.launch();
  const read = first.call("output", { task_id: id, block: true, timeout: 600_000 }, { callID: "call_1" }).catch(String);
  await settled();
  first.life.pause();
  await clock.advance(2 * LEASE_MS);
  return { clock, first, second, id, read };
};

const LETS_GO = /^Error: Another OpenCode process works on .* by a notice/;

test("a call that waits for a task which was taken over lets go on waking, and the end is delivered by the notice alone", async () => {
  const { clock, first, second, id, read } = await waitingWhileStopped();
  second.host.finish(id, "THE END");
  await clock.advance(5_000);
  expect(endsTo(PARENT, second)).toHaveLength(1);
  first.life.wake();
  expect(await read).toMatch(LETS_GO);
  await clock.advance(60_000);
  expect([...endsTo(PARENT, first), ...endsTo(PARENT, second)]).toHaveLength(1);
});

test("it lets go as well where the task still runs, and what is stored of it is not taken for the end", async () => {
  const { clock, first, second, id, read } = await waitingWhileStopped();
  first.life.wake();
  await clock.advance(3_000);
  expect(await read).toMatch(LETS_GO);
  second.host.at(PARENT).toolCalls.set("call_1", "failed");
  second.host.finish(id, "THE END");
  await clock.advance(60_000);
  expect(endsTo(PARENT, second)).toHaveLength(1);
  expect(endsTo(PARENT, first)).toHaveLength(0);
});

test("a call whose time is up while its process is stopped lets go, too", async () => {
  const { clock, open } = twoProcesses();
  const [first, second] = [open(), open()];
  const id = await first.launch();
  const read = first.call("output", { task_id: id, block: true, timeout: 20_000 }, { callID: "call_1" }).catch(String);
  await settled();
  first.life.pause();
  await clock.advance(2 * LEASE_MS);
  second.host.finish(id, "THE END");
  await clock.advance(5_000);
  first.life.wake();
  expect(await read).toMatch(LETS_GO);
  expect(endsTo(PARENT, second)).toHaveLength(1);
});

test("a call that has the end already, and is stopped before it returns, returns it no more once a notice delivers it", async () => {
  const { clock, open } = twoProcesses();
  const [first, second] = [open(), open()];
  const id = await first.launch();
  const { wait, onCallReturned } = first.engine;
  const call = { sessionID: PARENT, callID: "call_1" };
  const waiting = wait({ ...call, taskIds: [id], signal: new AbortController().signal, timeoutMs: undefined });
  await first.finish(id, "THE END");
  expect(await waiting).toBe("ended");
  first.life.pause();
  await clock.advance(2 * LEASE_MS);
  await clock.advance(5_000);
  expect(endsTo(PARENT, second)).toHaveLength(1);
  first.life.wake();
  expect(onCallReturned(call)).toBe(false);
  await clock.advance(60_000);
  expect(endsTo(PARENT, first)).toHaveLength(0);
});

test("a call whose output was stored before its process was stopped has delivered the end, and no notice does", async () => {
  const { clock, open } = twoProcesses();
  const [first, second] = [open(), open()];
  const id = await first.launch();
  const read = first.call("output", { task_id: id, block: true }, { callID: "call_1" });
  await settled();
  first.host.finish(id, "THE END");
  expect(await read).toContain("THE END");
  first.host.at(PARENT).toolCalls.set("call_1", "stored");
  first.life.pause();
  await clock.advance(2 * LEASE_MS);
  first.life.wake();
  await clock.advance(60_000);
  expect([...endsTo(PARENT, first), ...endsTo(PARENT, second)]).toEqual([]);
});

test("an output that is stored late since the whole process was held up is not taken for lost", async () => {
  const { clock, open } = twoProcesses();
  const first = open();
  const id = await first.launch();
  const read = first.call("output", { task_id: id, block: true }, { callID: "call_1" });
  await settled();
  first.host.finish(id, "THE END");
  expect(await read).toContain("THE END");
  first.life.pause();
  await clock.advance(12_000);
  first.life.wake();
  await settled();
  first.host.emit({ type: "toolCall", sessionID: PARENT, callID: "call_1", tool: "output", stage: "stored" });
  await clock.advance(60_000);
  expect(endsTo(PARENT, first)).toEqual([]);
});

test("a call of a task's agent lets go where the task itself is taken over", async () => {
  const { clock, open } = twoProcesses();
  const [first, second] = [open(), open()];
  const lead = await first.launch();
  const below = await first.launch({}, { sessionID: lead });
  const call = { sessionID: lead, callID: "call_1" };
  const read = first.call("output", { task_id: below, block: true, timeout: 600_000 }, call).catch(String);
  await settled();
  first.life.pause();
  await clock.advance(2 * LEASE_MS);
  expect(second.host.at(lead).busy).toBe(true);
  second.host.finish(below, "THE END");
  await clock.advance(5_000);
  first.life.wake();
  expect(await read).toMatch(LETS_GO);
  expect(endsTo(lead, first)).toEqual([]);
  expect(endsTo(lead, second)).toHaveLength(1);
});

test("a process that wakes first stops what was taken over: before it calls the host for anything else, and before any tool call", async () => {
  const { clock, open } = twoProcesses();
  const [first, second] = [open(), open()];
  const id = await first.launch();
  const asks = { id: "per_1", kind: "permission", what: "bash", since: clock.now() } as const;
  first.host.emit({ type: "asked", sessionID: id, request: asks });
  first.life.pause();
  await clock.advance(2 * LEASE_MS);
  expect(second.host.at(id).busy).toBe(true);
  const called: string[] = [];
  const { abort, rejectUserRequest } = first.host;
  const aborted = Promise.withResolvers<void>();
  first.host.abort = async (...args) => {
    called.push("abort");
    await aborted.promise;
    return abort(...args);
  };
  first.host.rejectUserRequest = async (...args) => {
    called.push("reject");
    return rejectUserRequest(...args);
  };
  first.life.wake();
  // Nothing but the hook has run: the model's answer was there when it woke.
  let isHeld = true;
  void first.engine.untilStopped(id)?.then(() => {
    isHeld = false;
  });
  expect(first.engine.untilStopped(PARENT)).toBeUndefined();
  await settled();
  expect([called, isHeld]).toEqual([["abort"], true]);
  aborted.resolve();
  await settled();
  expect(called).toEqual(["abort", "reject"]);
  expect(first.host.at(id).busy).toBe(false);
  expect(isHeld).toBe(false);
  expect(first.engine.untilStopped(id)).toBeUndefined();
});

test("a process that was stopped in the middle of a launch goes on with it: no other one takes its session for left", async () => {
  const { clock, open } = twoProcesses();
  const [first, second] = [open(), open()];
  const creation = first.host.holdNext("createSession");
  const launched = watched(first.launch());
  await settled();
  first.life.pause();
  creation.release();
  await clock.advance(2 * LEASE_MS);
  expect(second.host.sessionIDs()).toHaveLength(2);
  first.life.wake();
  await clock.advance(1_000);
  const id = String(launched.value);
  expect(first.task(id).status).toBe("running");
  await first.finish(id, "12");
  expect(first.task(id)).toMatchObject({ status: "completed", result: "12" });
});
