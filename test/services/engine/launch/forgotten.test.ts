import { getEventListeners } from "node:events";
import { expect, test, vi } from "vitest";
import { createStage } from "../../../fakes/stage.ts";

/** Returns how many listen to each of the signals that were made of others. */
const listenersOfMadeSignals = () => {
  const make = vi.spyOn(AbortSignal, "any");
  return () => make.mock.results.map(({ value }) => getEventListeners(value as AbortSignal, "abort").length);
};

test("a launch that is over, whether it led to a task or not, listens to its caller's turn no more, and so is not kept in memory", async () => {
  const listeners = listenersOfMadeSignals();
  const stage = createStage();
  const held = stage.host.holdNext("createSession");
  const launched = stage.launch();
  await stage.clock.advance(10);
  expect(listeners()).toEqual([1]);
  held.release();
  await launched;
  stage.host.failNext("createSession", { kind: "refused", name: "BadRequest", message: "no" });
  await stage.launch().catch(() => undefined);
  expect(listeners()).toEqual([0, 0]);
});
