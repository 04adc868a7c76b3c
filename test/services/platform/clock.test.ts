import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { sleep, systemClock } from "../../../src/services/platform/clock.ts";

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
