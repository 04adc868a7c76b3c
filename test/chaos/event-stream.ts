import type { HostEvent } from "../../src/machines/host-events.ts";
import type { Clock } from "../../src/services/platform/clock.ts";

/** What happens to an event on its way; `by` is milliseconds. `swap`: it arrives after the next one. */
export type EventFault =
  | { is: "lost" }
  | { is: "doubled" }
  | { is: "repeated"; by: number }
  | { is: "late"; by: number }
  | { is: "swapped" };

type Listener = (event: HostEvent) => void;

/** The event stream from the host to the engine, which may lose, delay and reorder events. */
export interface EventStream {
  /** Applies the faults to the next events, in order. */
  expect(faults: EventFault[]): void;
  /** Connects the listener of one process; delays are measured by that process's clock. */
  endAt(to: Listener, clock: Clock): Listener;
  /** Removes all faults: from now on every event arrives at once. */
  mend(): void;
}

/**
 * True for events that are never lost. The host reports only once whether a tool's answer was stored; if that is lost, the
 * engine rightly delivers the result again, and delivering twice would look like a fault.
 */
const isSpared = ({ type }: HostEvent): boolean => type === "toolCall";

/**
 * Creates a faultless stream. `onFate` is called with each event and the fault applied to it. `leavesModel`: true for a
 * session whose model refuses. Its turn is aborted, and an abort that is heard after that is another one, by a person: so
 * the report of its abort is in time, and comes once.
 */
export const createEventStream = (
  onFate: (event: HostEvent, fault: EventFault | undefined) => void,
  leavesModel: (sessionID: string) => boolean,
): EventStream => {
  let faults: EventFault[] = [];
  /** Delivers the event that is waiting to be overtaken by the next one. */
  let overtaken: (() => void) | undefined;

  const letThrough = () => {
    const deliver = overtaken;
    overtaken = undefined;
    deliver?.();
  };

  return {
    expect: (more) => {
      faults.push(...more);
    },
    endAt: (to, clock) => {
      overtaken = undefined;
      return (event) => {
        const isOfAbort = event.type === "error" && leavesModel(event.sessionID);
        const fault = isSpared(event) || isOfAbort ? undefined : faults.shift();
        onFate(event, fault);
        if (fault?.is === "lost") return;
        if (fault?.is === "late") return void clock.after(fault.by, () => to(event));
        if (fault?.is === "swapped" && !overtaken) {
          overtaken = () => to(event);
          return;
        }
        to(event);
        if (fault?.is === "doubled") to(event);
        if (fault?.is === "repeated") clock.after(fault.by, () => to(event));
        letThrough();
      };
    },
    mend: () => {
      faults = [];
      letThrough();
    },
  };
};
