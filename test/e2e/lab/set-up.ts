import { afterAll, afterEach, beforeEach } from "vitest";

/**
 * Sets up what the tests of a file, or of a `describe`, share: before the first of them, and anew before the next one after a
 * test that failed, which may have left anything behind. So one failure is one failure.
 *
 * @param start resolves to what takes it down again
 */
export function setUp(start: () => Promise<() => unknown>): void {
  let started: Promise<() => unknown> | undefined;
  let running = 0;
  let hasFailed = false;

  async function takeDown(): Promise<void> {
    const ending = started;
    started = undefined;
    hasFailed = false;
    // A start that failed has nothing to take down, and the test that it was for has said why.
    const end = await ending?.catch(() => undefined);
    await end?.();
  }

  beforeEach(async () => {
    running += 1;
    started ??= start();
    await started;
  });
  afterEach(async ({ task }) => {
    running -= 1;
    hasFailed ||= task.result?.state === "fail";
    // Tests that run at the same time share it until the last of them has ended.
    if (hasFailed && running === 0) await takeDown();
  });
  afterAll(takeDown);
}
