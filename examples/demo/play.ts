import { setTimeout as sleep } from "node:timers/promises";
import type { Lab } from "../../test/e2e/lab/lab.ts";
import { QUESTION, RUNS } from "./scenario.ts";
import type { Screen } from "./screen.ts";
import { advance, begin, isOver, type Timeline } from "./timeline.ts";

/** Milliseconds from one picture to the next. */
const FRAME = 80;

/** How many milliseconds it goes on looking, when all is said, for a notice that would be one too many. */
const AFTERMATH = 1_000;

/** Asks the question and shows what comes of it. Resolves to the timeline when all is said. */
export async function play(lab: Lab, sessionID: string, screen: Screen, signal: AbortSignal): Promise<Timeline> {
  let timeline = begin(sessionID, Date.now());
  await unless(signal, lab.prompt(sessionID, QUESTION));
  let seen = 0;
  let overSince: number | undefined;
  while (overSince === undefined || Date.now() - overSince < AFTERMATH) {
    await unless(signal, nextBeat(lab, FRAME));
    for (const event of lab.events.all.slice(seen)) {
      timeline = advance(timeline, event);
      screen.show(timeline, event.at);
    }
    seen = lab.events.all.length;
    if (!isOver(timeline, RUNS)) overSince = undefined;
    else overSince ??= Date.now();
    if (overSince === undefined) screen.show(timeline, Date.now());
  }
  return timeline;
}

/** Resolves after that many milliseconds. Rejects when OpenCode has ended meanwhile. */
export async function nextBeat(lab: Lab, ms: number): Promise<void> {
  await sleep(ms);
  try {
    process.kill(lab.opencode.pid, 0);
  } catch {
    throw new Error("OpenCode has ended, though nobody stopped it.");
  }
}

/** The promise's value, unless the signal comes first: then rejects with its reason. */
export function unless<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  return Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", abort));
}
