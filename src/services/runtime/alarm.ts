// ADR-003 in docs/decisions.md
import type { SupervisorEvent } from "../../machines/supervisor/events.ts";
import type { Clock } from "../platform/clock.ts";
import type { Deadlines } from "./deadlines.ts";

/**
 * One timer for the deadlines of all charts. The deadlines are numbers in the charts' contexts, so a timer that is lost,
 * with its process for instance, loses nothing.
 */
export interface Alarm {
  /** Sets the timer to the earliest deadline; to be called whenever a chart took a step. */
  set(): void;
  stop(): void;
}

const NEVER = Number.POSITIVE_INFINITY;

/** Creates an alarm that is not set. `onDue` gets a `TICK` for each chart that has something to do. */
export const createAlarm = (
  clock: Clock,
  { tasks, outboxes }: { tasks: Deadlines; outboxes: Deadlines },
  onDue: (ticks: SupervisorEvent[]) => void,
): Alarm => {
  let isStopped = false;
  /** What the timer is set to. */
  let ringsAt = NEVER;
  let callOff: () => void = () => undefined;
  let seenAt = clock.now();

  /** Returns the time. Where it is not yet what it must be, the clock was set back: no chart waits longer for that. */
  const look = (atLeast = seenAt): number => {
    const now = clock.now();
    if (now < atLeast) for (const deadlines of [tasks, outboxes]) deadlines.bringForward(atLeast - now);
    seenAt = now;
    return now;
  };

  /** Where the clock was set back, it is the time that a chart waits for: it looks at nothing else. */
  const ticksDue = (now: number): SupervisorEvent[] => {
    const tick = (deadline: number) => ({ type: "TICK", at: Math.max(now, deadline) }) as const;
    return [
      ...tasks.due(now).map(({ id, deadline }) => ({ type: "TASK", id, event: tick(deadline) }) as const),
      ...outboxes.due(now).map(({ id, deadline }) => ({ type: "OUTBOX", id, event: tick(deadline) }) as const),
    ];
  };

  const ring = () => {
    const now = look(Math.max(seenAt, ringsAt));
    ringsAt = NEVER;
    onDue(ticksDue(now));
  };

  return {
    set: () => {
      const now = look();
      const next = Math.min(tasks.earliest() ?? NEVER, outboxes.earliest() ?? NEVER);
      if (isStopped || next === ringsAt) return;
      callOff();
      ringsAt = next;
      if (next !== NEVER) callOff = clock.after(Math.max(0, next - now), ring);
    },
    stop: () => {
      isStopped = true;
      callOff();
    },
  };
};
