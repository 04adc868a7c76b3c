import { setTimeout as sleep } from "node:timers/promises";
import { refuseEndedTest } from "./running-test.ts";

/** Milliseconds between the first two looks; most of what is waited for is there soon. */
const FIRST_PAUSE_MS = 50;

/** Milliseconds between two looks in the end: each look makes the process that is looked at work, which slows all others. */
const LONGEST_PAUSE_MS = 100;

/**
 * Looks until the answer is truthy, and resolves to it; undefined when it was not within `timeoutMs`. The pauses between two
 * looks grow. `happened` ends a pause early, and the next ones are short again: it resolves when something happens.
 */
export async function poll<T>(
  look: () => T | Promise<T>,
  timeoutMs: number,
  happened: () => Promise<void>,
): Promise<Exclude<T, undefined | null | false> | undefined> {
  const deadline = Date.now() + timeoutMs;
  for (let pause = FIRST_PAUSE_MS; ; ) {
    refuseEndedTest();
    const happens = happened().then(() => true);
    const answer = await look();
    if (answer) return answer as Exclude<T, undefined | null | false>;
    if (Date.now() > deadline) return undefined;
    await sleep(FIRST_PAUSE_MS);
    const hasHappened = await Promise.race([happens, sleep(pause - FIRST_PAUSE_MS).then(() => false)]);
    pause = hasHappened ? FIRST_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, pause * 1.5);
  }
}
