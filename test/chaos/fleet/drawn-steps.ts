import fc from "fast-check";
import { fromSome, type Kinds } from "../swarm.ts";
import { encounters } from "./encounters.ts";
import { BROKER_CALLS, type FleetSchedule, type FleetStep, LEASE, TROUBLES, type Who } from "./steps.ts";

type StepOf<Do extends FleetStep["do"]> = Extract<FleetStep, { do: Do }>;

const one = <Do extends FleetStep["do"]>(
  name: Do,
  fields: { [Key in keyof Omit<StepOf<Do>, "do">]: fc.Arbitrary<StepOf<Do>[Key]> },
): fc.Arbitrary<StepOf<Do>> => fc.record({ do: fc.constant(name), ...fields }) as unknown as fc.Arbitrary<StepOf<Do>>;

const some = fc.nat({ max: 7 });

/** Mostly a server that has something to lose. */
const server = { who: fc.constantFrom<Who>("any", "origin", "worker", "worker"), server: some };

const time = fc.oneof(
  fc.integer({ min: 1, max: 3_000 }),
  fc.constantFrom(5_000, 20_000, 30_000, LEASE, LEASE + 5_000, 2 * LEASE, 3 * LEASE),
);

const kinds: Kinds<FleetStep> = {
  needed: [
    [7, one("launch", { origin: some, agent: fc.constantFrom("explore", "explore", "general") })],
    [9, one("time", { ms: time })],
    [4, one("finish", { work: some })],
  ],
  optional: [
    [1, one("fail", { work: some })],
    [2, one("callTool", { work: some })],
    [3, one("ask", { work: some })],
    [3, one("answerAtOrigin", { task: some })],
    [1, one("answerThere", { work: some })],
    [3, one("cancel", { task: some })],
    [6, one("resume", { task: some })],
    [4, one("retry", { task: some })],
    [
      3,
      one("limit", {
        model: fc.constantFrom("fake/small", "fake/small", "fake/m1"),
        most: fc.constantFrom(1, 1, 2, null),
      }),
    ],
    [2, one("drain", server)],
    [1, one("undrain", {})],
    [3, one("die", server)],
    [4, one("dieAfter", { ...server, calls: fc.integer({ min: 1, max: 30 }) })],
    [4, one("restart", { server: some })],
    [3, one("pause", server)],
    [3, one("wake", {})],
    [3, one("unplug", server)],
    [3, one("plug", {})],
    [
      6,
      one("strike", {
        ...server,
        call: fc.constantFrom(...BROKER_CALLS),
        is: fc.constantFrom(...TROUBLES),
        times: fc.integer({ min: 1, max: 4 }),
      }),
    ],
    [2, one("deafen", { ...server, ms: time })],
    [1, one("beginSlowly", { ms: fc.constantFrom(3_000, 2 * LEASE) })],
    [2, one("cutOff", {})],
    [3, one("bringBack", {})],
    [1, one("wipe", {})],
    [2, one("copy", {})],
    [1, one("setBack", {})],
    [1, one("loseJobs", {})],
  ],
};

const servers = {
  origins: fc.constantFrom(1, 1, 2),
  workers: fc.array(fc.constantFrom(1, 1, 2), { minLength: 2, maxLength: 3 }),
  originsWork: fc.constantFrom(false, false, false, true),
};

const mixed: fc.Arbitrary<FleetSchedule> = fc.record({
  ...servers,
  steps: fromSome(kinds, (step) => fc.array(step, { minLength: 2, maxLength: 18, size: "max" })),
});

/** In these, less depends on how many servers there are: with few, what happens concerns the run that was brought into a state. */
const ofEncounters: fc.Arbitrary<FleetSchedule> = fc.record({
  origins: fc.constantFrom(1, 1, 1, 2),
  workers: fc.constantFrom([1, 1], [1, 1], [2, 1], [1], [2]),
  originsWork: fc.constantFrom(false, false, false, false, true),
  steps: encounters,
});

/** Generates schedules: one or two servers that launch, and one to three that work. */
export const fleetSchedules: fc.Arbitrary<FleetSchedule> = fc.oneof(
  { weight: 2, arbitrary: mixed },
  { weight: 3, arbitrary: ofEncounters },
);
