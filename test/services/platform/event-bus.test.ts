import { expect, test } from "vitest";
import { createEventBus } from "../../../src/services/platform/listeners.ts";
import { settled } from "../../fakes/virtual-clock.ts";

const setUp = () => {
  const logged: string[] = [];
  const write = (message: string, extra?: Record<string, unknown>) =>
    void logged.push(`${message} ${JSON.stringify(extra)}`);
  const heard: string[] = [];
  return { bus: createEventBus<{ rang: string; other: string }>({ info: write, error: write }), logged, heard };
};

test("listeners of an event are called in the order in which they subscribed, until they unsubscribe", () => {
  const { bus, heard } = setUp();
  bus.on("rang", (who) => void heard.push(`first ${who}`));
  const unsubscribe = bus.on("rang", (who) => void heard.push(`second ${who}`));
  bus.on("other", () => void heard.push("other"));
  bus.emit("rang", "a");
  unsubscribe();
  bus.emit("rang", "b");
  expect(heard).toEqual(["first a", "second a", "first b"]);
});

test("a listener that throws or rejects is logged, and stops no other", async () => {
  const { bus, heard, logged } = setUp();
  bus.on("rang", () => {
    throw new Error("thrown");
  });
  bus.on("rang", () => Promise.reject(new Error("rejected")));
  bus.on("rang", (who) => void heard.push(who));
  bus.emit("rang", "a");
  expect(heard).toEqual(["a"]);
  await settled();
  expect(logged).toEqual([
    'a listener failed {"event":"rang","reason":"thrown"}',
    'a listener failed {"event":"rang","reason":"rejected"}',
  ]);
});

test("a listener that subscribes or unsubscribes others does so from the next event on", () => {
  const { bus, heard } = setUp();
  const unsubscribe = bus.on("rang", () => {
    unsubscribeSecond();
    unsubscribe();
    bus.on("rang", (who) => void heard.push(`third ${who}`));
  });
  const unsubscribeSecond = bus.on("rang", (who) => void heard.push(`second ${who}`));
  bus.emit("rang", "a");
  bus.emit("rang", "b");
  expect(heard).toEqual(["second a", "third b"]);
});

test("a caller that waits for the listeners gets the first fault, once all others are done", async () => {
  const { bus, heard, logged } = setUp();
  bus.on("rang", () => Promise.reject(new Error("no")));
  bus.on("rang", async (who) => {
    await settled();
    heard.push(who);
  });
  await expect(bus.emitAndWait("rang", "a")).rejects.toThrow("no");
  expect(heard).toEqual(["a"]);
  expect(logged).toEqual([]);
  await bus.emitAndWait("other", "b");
});
