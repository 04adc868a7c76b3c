import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { repeat, sleep, systemClock } from "../../../src/services/platform/clock.ts";

const DAY = 86_400_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each([1, 10, 24 * DAY, 60 * DAY])("a timer of %i ms fires then, once, and no sooner", (ms) => {
  const fire = vi.fn();
  systemClock.after(ms, fire);
  vi.advanceTimersByTime(ms - 1);
  expect(fire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(fire).toHaveBeenCalledTimes(1);
  vi.advanceTimersByTime(60 * DAY);
  expect(fire).toHaveBeenCalledTimes(1);
});

test("a cancelled timer does not fire, however long it has run", () => {
  const fire = vi.fn();
  const cancel = systemClock.after(60 * DAY, fire);
  vi.advanceTimersByTime(50 * DAY);
  cancel();
  vi.advanceTimersByTime(60 * DAY);
  expect(fire).not.toHaveBeenCalled();
});

test("a sleep resolves when its time is over, and no sooner", async () => {
  const awake = vi.fn();
  const slept = sleep(systemClock, 60 * DAY).then(awake);
  await vi.advanceTimersByTimeAsync(60 * DAY - 1);
  expect(awake).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  await slept;
  expect(awake).toHaveBeenCalledTimes(1);
});

/** Repeats work every 10 ms, beginning after 5, and counts how often it began. */
const repeated = (work: () => void | Promise<void> = () => undefined) => {
  const began = vi.fn(work);
  const error = vi.fn();
  const log = { info: () => undefined, error };
  const stop = repeat(systemClock, log, { first: 5, every: 10, work: began, fault: "it failed" });
  return { began, error, stop };
};

test("work is repeated, each time a pause after it has ended", async () => {
  const { began, stop } = repeated(() => sleep(systemClock, 100));
  await vi.advanceTimersByTimeAsync(4);
  expect(began).toHaveBeenCalledTimes(0);
  await vi.advanceTimersByTimeAsync(1);
  expect(began).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(109);
  expect(began).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(began).toHaveBeenCalledTimes(2);
  stop();
});

test("work may say how long its pause is", async () => {
  const work = vi.fn(() => 50);
  const log = { info: () => undefined, error: () => undefined };
  const stop = repeat(systemClock, log, { every: 10, work, fault: "it failed" });
  await vi.advanceTimersByTimeAsync(59);
  expect(work).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(work).toHaveBeenCalledTimes(2);
  stop();
});

test("work that throws is logged, and repeated all the same", async () => {
  const { began, error, stop } = repeated(() => {
    throw new Error("kaboom");
  });
  await vi.advanceTimersByTimeAsync(15);
  expect(began).toHaveBeenCalledTimes(2);
  expect(error).toHaveBeenCalledWith("it failed", { reason: "kaboom" });
  stop();
});

test.each([
  ["before it has begun", 0],
  ["while it is under way", 50],
  ["between two times", 108],
])("work that is stopped %s is not repeated, and keeps no timer", async (_, at) => {
  const { began, stop } = repeated(() => sleep(systemClock, 100));
  await vi.advanceTimersByTimeAsync(at);
  stop();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(began).toHaveBeenCalledTimes(at === 0 ? 0 : 1);
  expect(vi.getTimerCount()).toBe(0);
});
