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

  const ticksDue = (): SupervisorEvent[] => {
    const at = clock.now();
    const event = { type: "TICK", at } as const;
    return [
      ...tasks.due(at).map((id) => ({ type: "TASK", id, event }) as const),
      ...outboxes.due(at).map((id) => ({ type: "OUTBOX", id, event }) as const),
    ];
  };

  const ring = () => {
    ringsAt = NEVER;
    onDue(ticksDue());
  };

  return {
    set: () => {
      const next = Math.min(tasks.earliest() ?? NEVER, outboxes.earliest() ?? NEVER);
      if (isStopped || next === ringsAt) return;
      callOff();
      ringsAt = next;
      if (next !== NEVER) callOff = clock.after(Math.max(0, next - clock.now()), ring);
    },
    stop: () => {
      isStopped = true;
      callOff();
    },
  };
};
