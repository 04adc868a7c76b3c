import { statePath } from "../../src/machines/chart.ts";
import { isSummarizing } from "./choosing.ts";
import type { Simulation } from "./simulation.ts";

/** Milliseconds within which what was on its way to a session that is paused has arrived, and was stopped. */
const IDLE_WITHIN = 6_000;

/** Since when, epoch milliseconds, the session of each task that is paused has been at work. */
const atWorkSince = new WeakMap<Simulation, Map<string, number>>();

/** Returns the paused tasks of a process whose sessions have been at work for longer than a moment. */
export const worksWhilePaused = (world: Simulation): string[] => {
  const { host, stage, calls, clock, ownership, owner } = world;
  const before = atWorkSince.get(world) ?? new Map<string, number>();
  const isHere = (id: string) => (ownership?.supervisorOf(id) ?? owner()) === owner();
  const atWork = host.sessionIDs().filter((id) => {
    const run = stage.store.get(id)?.snapshot.value.run;
    const isPaused = run !== undefined && statePath(run) === "pausing.paused";
    return isPaused && isHere(id) && host.at(id).busy && !isSummarizing(world, id);
  });
  atWorkSince.set(world, new Map(atWork.map((id) => [id, before.get(id) ?? clock.now()])));
  // A session that could not be aborted works on.
  if (calls.struck.has("abort")) return [];
  return atWork.flatMap((id) => {
    const works = clock.now() - (before.get(id) ?? clock.now());
    return works > IDLE_WITHIN ? `${id} is paused, and works for ${works} ms` : [];
  });
};
