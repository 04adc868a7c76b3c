import { expect, test } from "vitest";
import { createStage, PARENT } from "../../../fakes/stage.ts";
import { settled } from "../../../fakes/virtual-clock.ts";
import { watched } from "../../../fakes/watched.ts";

const args = { description: "find it", prompt: "Find it.", agent: "general" };

test("of more launches than are created at a time, one that is cancelled while it waits creates nothing", async () => {
  const stage = createStage();
  const create = stage.host.createSession;
  const all: (() => void)[] = [];
  Object.assign(stage.host, {
    createSession: async (...given: Parameters<typeof create>) => {
      await new Promise<void>((resolve) => void all.push(resolve));
      return create(...given);
    },
  });
  const others = Array.from({ length: 100 }, () => watched(stage.call("task", args)));
  await settled();
  const turn = new AbortController();
  const waiting = watched(stage.call("task", args, { abort: turn.signal }));
  await stage.clock.advance(10);
  expect(all).toHaveLength(100);
  turn.abort();
  await settled();
  expect(String(waiting.fault)).toContain("The turn was aborted; nothing was launched.");
  for (const release of all) release();
  await settled();
  expect(others.filter(({ value }) => value !== undefined)).toHaveLength(100);
  expect(stage.host.sessionIDs()).toHaveLength(101);
  expect(stage.host.sessionIDs()).toContain(PARENT);
  // The turn that it waited for is free for the next one.
  const next = watched(stage.call("task", args));
  await settled();
  all.at(-1)?.();
  await settled();
  expect(next.value).toBeDefined();
});

test("a launch that is called after the engine has stopped is refused, and asks the host for nothing", async () => {
  const stage = createStage();
  await stage.launch();
  const { engine } = stage;
  engine.stop();
  const before = stage.host.calls.length;
  const late = watched(stage.call("task", args));
  await stage.clock.advance(60_000);
  expect(late.fault).toBeDefined();
  expect(stage.host.calls.slice(before)).toEqual([]);
});
