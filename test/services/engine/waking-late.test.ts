import { expect, test } from "vitest";
import { LEASE_MS } from "../../../src/services/store/ownership.ts";
import { createMemory } from "../../fakes/disk.ts";
import { createFakeHost, type FakeSession, unavailable } from "../../fakes/fake-host.ts";
import { createSharedSessionFile } from "../../fakes/session-file.ts";
import { createStage, PARENT } from "../../fakes/stage.ts";
import { createVirtualClock, settled } from "../../fakes/virtual-clock.ts";

/** Two OpenCode processes with the same sessions and the same store. */
const twoProcesses = () => {
  const clock = createVirtualClock();
  const memory = createMemory();
  memory.keepAlive();
  const file = createSharedSessionFile<FakeSession>();
  const open = () => createStage({ clock, openStore: memory.boot, host: createFakeHost(clock, undefined, file) });
  return { clock, first: open(), second: open() };
};

const noticesTo = (parent: string, { host }: ReturnType<typeof createStage>): string[] =>
  host.attempts.flatMap(({ sessionID, messageID }) => (sessionID === parent ? messageID : []));

test("a process that was stopped does not send the notice that another one has delivered for it", async () => {
  const { clock, first, second } = twoProcesses();
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

test("a process that was stopped still delivers the ends of tasks that it launches after that", async () => {
  const { clock, first, second } = twoProcesses();
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
