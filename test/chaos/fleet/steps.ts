import fc from "fast-check";
import type { Bus } from "../../../src/services/fleet/bus.ts";
import { fromSome, type Kinds } from "../swarm.ts";

/** The calls to the engine whose answers may be lost. */
export const ANSWERED = [
  "append",
  "read",
  "offer",
  "isOffered",
  "take",
  "hold",
  "holder",
  "drop",
  "limits",
  "ask",
] as const;

/**
 * One step of a schedule of a fleet. Numbers select among what is there at that moment (modulo its count); where nothing is,
 * the step does nothing. Times are milliseconds.
 */
export type FleetStep =
  // Agents.
  | { do: "launch"; home: number; agent: "explore" | "general" }
  | { do: "finish"; work: number }
  | { do: "fail"; work: number }
  | { do: "ask"; work: number }
  // People.
  | { do: "answerAtHome"; task: number }
  | { do: "answerThere"; work: number }
  | { do: "cancel"; task: number }
  | { do: "resume"; task: number }
  | { do: "limit"; model: string; most: number | null }
  // Servers.
  | { do: "die"; server: number }
  /** It dies at one of its next calls. */
  | { do: "dieAfter"; server: number; calls: number }
  | { do: "restart"; server: number }
  | { do: "pause"; server: number }
  | { do: "wake"; server: number }
  /** It reaches the engine no more, and goes on. */
  | { do: "unplug"; server: number }
  | { do: "plug"; server: number }
  // The engine.
  | { do: "cutOff" }
  | { do: "bringBack" }
  | { do: "wipe" }
  | { do: "loseOrders" }
  | { do: "loseAnswers"; call: keyof Bus; times: number }
  | { do: "time"; ms: number };

/** The servers of a fleet, and what happens to them. */
export interface FleetSchedule {
  homes: number;
  /** How many runs each of the workers takes at once. */
  workers: readonly number[];
  /** True where those that launch work for the others as well. */
  homesWork: boolean;
  steps: FleetStep[];
}

export const LEASE = 60_000;

const some = fc.nat({ max: 7 });

const time = fc.oneof(
  fc.integer({ min: 1, max: 3_000 }),
  fc.constantFrom(5_000, 20_000, 30_000, LEASE, LEASE + 5_000, 2 * LEASE, 3 * LEASE),
);

const kinds: Kinds<FleetStep> = {
  needed: [
    [
      7,
      fc.record({
        do: fc.constant("launch" as const),
        home: some,
        agent: fc.constantFrom("explore" as const, "general" as const),
      }),
    ],
    [9, fc.record({ do: fc.constant("time" as const), ms: time })],
    [4, fc.record({ do: fc.constant("finish" as const), work: some })],
  ],
  optional: [
    [1, fc.record({ do: fc.constant("fail" as const), work: some })],
    [3, fc.record({ do: fc.constant("ask" as const), work: some })],
    [3, fc.record({ do: fc.constant("answerAtHome" as const), task: some })],
    [1, fc.record({ do: fc.constant("answerThere" as const), work: some })],
    [3, fc.record({ do: fc.constant("cancel" as const), task: some })],
    [6, fc.record({ do: fc.constant("resume" as const), task: some })],
    [
      3,
      fc.record({
        do: fc.constant("limit" as const),
        model: fc.constantFrom("fake/small", "fake/small", "fake/m1"),
        most: fc.constantFrom(1, 1, 2, null),
      }),
    ],
    [3, fc.record({ do: fc.constant("die" as const), server: some })],
    [3, fc.record({ do: fc.constant("dieAfter" as const), server: some, calls: fc.integer({ min: 1, max: 30 }) })],
    [4, fc.record({ do: fc.constant("restart" as const), server: some })],
    [3, fc.record({ do: fc.constant("pause" as const), server: some })],
    [3, fc.record({ do: fc.constant("wake" as const), server: some })],
    [3, fc.record({ do: fc.constant("unplug" as const), server: some })],
    [3, fc.record({ do: fc.constant("plug" as const), server: some })],
    [2, fc.record({ do: fc.constant("cutOff" as const) })],
    [3, fc.record({ do: fc.constant("bringBack" as const) })],
    [1, fc.record({ do: fc.constant("wipe" as const) })],
    [1, fc.record({ do: fc.constant("loseOrders" as const) })],
    [
      4,
      fc.record({
        do: fc.constant("loseAnswers" as const),
        call: fc.constantFrom<keyof Bus>(...ANSWERED),
        times: fc.integer({ min: 1, max: 4 }),
      }),
    ],
  ],
};

const steps = fromSome(kinds, (step) => fc.array(step, { minLength: 2, maxLength: 18, size: "max" }));

/** Generates schedules: one or two servers that launch, and two or three that work. */
export const fleetSchedules: fc.Arbitrary<FleetSchedule> = fc.record({
  homes: fc.constantFrom(1, 1, 2),
  workers: fc.array(fc.constantFrom(1, 1, 2), { minLength: 2, maxLength: 3 }),
  homesWork: fc.constantFrom(false, false, false, true),
  steps,
});

/** Says what happens in a step. */
export const wordsOf = ({ do: what, ...how }: FleetStep): string =>
  [what, ...Object.entries(how).map(([name, value]) => `${name} ${value}`)].join(", ");
