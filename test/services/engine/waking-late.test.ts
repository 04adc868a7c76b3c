import { expect, test } from "vitest";
import { LEASE_MS } from "../../../src/services/store/ownership.ts";
import { createMemory } from "../../fakes/disk.ts";
import { createFakeHost, type FakeSession, unavailable } from "../../fakes/fake-host.ts";
import { createSharedSessionFile } from "../../fakes/session-file.ts";
import { createStage, PARENT } from "../../fakes/stage.ts";
import { createVirtualClock, settled, type VirtualClock } from "../../fakes/virtual-clock.ts";

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
  first.host.finish(id, "done");
  await settled();
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
  first.host.finish(id, "done");
  await settled();
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
  first.host.finish(below, "found");
  await settled();
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
