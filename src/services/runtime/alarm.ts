// ADR-003 in docs/decisions.md
import type { SupervisorEvent } from "../../machines/supervisor/events.ts";
import type { Clock } from "../platform/clock.ts";
import type { ActorSystem } from "./actor-system.ts";

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

/** Deadlines in a chart's context, epoch milliseconds. */
interface Deadlines {
  nextDeadline: number | undefined;
  parentReadyAt?: number | undefined;
}

const earliest = ({ nextDeadline = NEVER, parentReadyAt = NEVER }: Deadlines): number =>
  Math.min(nextDeadline, parentReadyAt);

/** Creates an alarm that is not set. `onDue` gets a `TICK` for each chart that has something to do. */
export const createAlarm = (
  clock: Clock,
  { tasks, outboxes }: Pick<ActorSystem, "tasks" | "outboxes">,
  onDue: (ticks: SupervisorEvent[]) => void,
): Alarm => {
  let isStopped = false;
  let callOff: () => void = () => undefined;

  /** Computed after every event, over all live tasks: it allocates nothing. */
  const nextDeadline = (): number => {
    let next = NEVER;
    for (const { context } of tasks.values()) {
      if (context.nextDeadline !== undefined && context.nextDeadline < next) next = context.nextDeadline;
    }
    for (const { context } of outboxes.values()) next = Math.min(next, earliest(context));
    return next;
  };

  const ticksDue = (): SupervisorEvent[] => {
    const at = clock.now();
    const event = { type: "TICK", at } as const;
    const due = (charts: ReadonlyMap<string, { context: Deadlines }>) =>
      [...charts].flatMap(([id, { context }]) => (earliest(context) <= at ? id : []));
    return [
      ...due(tasks).map((id) => ({ type: "TASK", id, event }) as const),
      ...due(outboxes).map((id) => ({ type: "OUTBOX", id, event }) as const),
    ];
  };

  return {
    set: () => {
      callOff();
      const next = nextDeadline();
      if (isStopped || next === NEVER) return;
      callOff = clock.after(Math.max(0, next - clock.now()), () => onDue(ticksDue()));
    },
    stop: () => {
      isStopped = true;
      callOff();
    },
  };
};
