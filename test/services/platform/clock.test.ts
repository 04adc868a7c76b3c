import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemClock } from "../../../src/services/platform/clock.ts";

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

test("a timer that is called off does not fire, however long it has run", () => {
  const fire = vi.fn();
  const callOff = systemClock.after(60 * DAY, fire);
  vi.advanceTimersByTime(50 * DAY);
  callOff();
  vi.advanceTimersByTime(60 * DAY);
  expect(fire).not.toHaveBeenCalled();
});
