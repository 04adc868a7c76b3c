import type { HostEvent } from "../../src/machines/host-events.ts";
import type { Clock } from "../../src/services/platform/clock.ts";

/** What becomes of an event on its way; `by` is milliseconds. `swap`: it comes after the one that follows it. */
export type WireFault =
  | { is: "lost" }
  | { is: "doubled" }
  | { is: "repeated"; by: number }
  | { is: "late"; by: number }
  | { is: "swapped" };

type Listener = (event: HostEvent) => void;

/** The way from the host to the engine, which keeps neither all events nor their order. */
export interface Wire {
  /** What the next events meet, one after the other. */
  expect(faults: WireFault[]): void;
  /** What stands at the end of the wire in one life of the process; what is late goes by that life's clock. */
  endAt(to: Listener, clock: Clock): Listener;
  /** From now on everything arrives, and at once. */
  mend(): void;
}

/**
 * Whether a tool's answer was stored is told once, and the engine may give up on it: then the end counts as untold, for
 * told twice is better than never. So this one event is kept whole.
 */
const isSpared = ({ type }: HostEvent): boolean => type === "toolCall";

/** `onFate` hears of each event, and of what becomes of it. */
export const createWire = (onFate: (event: HostEvent, fault: WireFault | undefined) => void): Wire => {
  let faults: WireFault[] = [];
  /** Delivers the event that waits for another to overtake it. */
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
        const fault = isSpared(event) ? undefined : faults.shift();
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
