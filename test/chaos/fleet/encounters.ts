import fc from "fast-check";
import { BROKER_CALLS, type BrokerCall, type FleetStep, LEASE, TROUBLES, type Trouble, type Who } from "./steps.ts";

/*
 * Scenes in which something happens to a run that is in a certain state: each thing in each state. By chance alone, most of
 * these meet too seldom for a promise about them to be tried.
 */

/** Of what there is, that which the scene has begun last. */
const NEWEST = -1;

/** Milliseconds in which what was asked is answered, and what was late has come. */
const MOMENT = 100;
const WHILE = 6_000;

/** Milliseconds after which servers have looked again at all that they look at, and origins as well. */
const LOOKED = LEASE / 2 + 5_000;

/** Longer than a job waits for a server. */
const IMPATIENT = 310_000;

const pass = (ms: number): FleetStep => ({ do: "time", ms });
const of = (who: Who) => ({ who, server: NEWEST }) as const;
const struck = (who: Who, call: BrokerCall, is: Trouble, times = 1): FleetStep => ({
  ...{ do: "strike", ...of(who), call, is, times },
});

const launched: FleetStep = { do: "launch", origin: 0, agent: "explore" };
const finished: FleetStep = { do: "finish", work: NEWEST };
const cancelled: FleetStep = { do: "cancel", task: NEWEST };
const asked: FleetStep = { do: "ask", work: NEWEST };
const answeredAtOrigin: FleetStep = { do: "answerAtOrigin", task: NEWEST };
const resumed: FleetStep = { do: "resume", task: NEWEST };
const copied: FleetStep = { do: "copy" };
const restarted: FleetStep = { do: "restart", server: NEWEST };
const woken: FleetStep = { do: "wake" };
const plugged: FleetStep = { do: "plug" };
const anyOrigin = (step: FleetStep): FleetStep => ({ ...step, who: "any", server: 0 }) as FleetStep;

const begun: readonly FleetStep[] = [launched, pass(MOMENT)];
const away: readonly FleetStep[] = [...begun, pass(WHILE)];
const ended: readonly FleetStep[] = [...begun, finished, pass(WHILE)];
const again: readonly FleetStep[] = [...ended, resumed, pass(MOMENT)];
const asleep: readonly FleetStep[] = [{ do: "pause", ...of("workers") }];

/** What brings the newest run into a state. */
const STATES: readonly (readonly FleetStep[])[] = [
  // It is being enqueued, or cannot be.
  [anyOrigin(struck("any", "enqueue", "lateThere")), launched, pass(MOMENT)],
  [anyOrigin(struck("any", "enqueue", "lateBack")), launched, pass(MOMENT)],
  [anyOrigin(struck("any", "enqueue", "lostThere", 3)), launched, pass(MOMENT)],
  [anyOrigin(struck("any", "enqueue", "lostBack", 2)), launched, pass(MOMENT)],
  [anyOrigin(struck("any", "limits", "lostBack", 3)), launched, pass(MOMENT)],
  [anyOrigin(struck("any", "enqueue", "lostBack", 7)), launched, pass(70_000)],
  [anyOrigin(struck("any", "enqueue", "lostThere", 7)), launched, pass(70_000)],
  // It waits for a server; for longer than its origin waits.
  [...asleep, ...begun],
  [{ do: "drain", ...of("workers") }, pass(20_000), ...begun],
  [...asleep, ...begun, pass(IMPATIENT)],
  [...asleep, anyOrigin(struck("any", "append ended", "lostBack", 3)), ...begun, pass(IMPATIENT)],
  // It is taken back while the servers are awake again: one may have begun it.
  [...asleep, ...begun, pass(298_000), struck("origin", "append ended", "lateThere"), pass(3_000), woken],
  [...asleep, ...begun, pass(298_000), struck("origin", "read", "lateBack", 2), pass(3_000), woken],
  [...begun, ...begun, ...begun],
  // A server has the job, the lease, the claim, and knows it or not.
  [struck("workers", "acquire", "lateThere"), ...begun],
  [struck("workers", "acquire", "lateBack"), ...begun],
  [struck("workers", "acquire", "lostBack"), ...begun],
  [struck("workers", "append claimed", "lateThere"), ...begun],
  [struck("workers", "append claimed", "lateBack"), ...begun],
  [struck("workers", "append claimed", "lostBack"), ...begun],
  [struck("workers", "append claimed", "lostThere"), ...begun],
  [{ do: "beginSlowly", ms: WHILE }, ...begun],
  [{ do: "beginSlowly", ms: 2 * LEASE }, ...begun, pass(WHILE)],
  [{ do: "dieAfter", ...of("workers"), calls: 12 }, ...begun],
  // A server works on it, and its origin knows that or not; its broker was copied before, or since.
  away,
  away,
  [copied, ...away],
  [...away, copied],
  [...begun, copied, ...begun],
  [launched, { do: "pause", ...of("origin") }, pass(WHILE)],
  [launched, { do: "deafen", ...of("origin"), ms: 2 * LEASE }, pass(WHILE)],
  [...away, { do: "deafen", ...of("worker"), ms: 2 * LEASE }],
  // Its agent asks, which its origin knows or not; was answered, which the server knows or not.
  [...away, asked, pass(MOMENT)],
  [...away, struck("worker", "append asked", "lateThere"), asked, pass(MOMENT)],
  [...away, struck("worker", "append asked", "lostThere", 2), asked, pass(MOMENT)],
  [...away, asked, pass(WHILE), struck("origin", "append replied", "lateThere"), answeredAtOrigin, pass(MOMENT)],
  [...away, asked, pass(WHILE), { do: "deafen", ...of("worker"), ms: LEASE }, answeredAtOrigin, pass(MOMENT)],
  // It is to stop; its server does not hear of that; nobody has begun it.
  [...away, struck("origin", "append stopRequested", "lateThere"), cancelled, pass(MOMENT)],
  [...away, struck("origin", "append stopRequested", "lostThere"), cancelled, pass(MOMENT)],
  [...away, { do: "deafen", ...of("worker"), ms: 2 * LEASE }, cancelled, pass(MOMENT)],
  [...away, { do: "pause", ...of("worker") }, cancelled, pass(MOMENT)],
  [...away, { do: "pause", ...of("worker") }, cancelled, pass(75_000)],
  [...away, struck("worker", "append ended", "lateThere"), cancelled, pass(MOMENT)],
  [...asleep, ...begun, anyOrigin(struck("any", "append ended", "lateThere")), cancelled, pass(MOMENT)],
  [...asleep, ...begun, anyOrigin(struck("any", "append ended", "lostThere", 3)), cancelled, pass(MOMENT)],
  // It has ended there, and the end is not written; is written, and not read; is read, and not confirmed.
  [...away, struck("worker", "append ended", "lateThere"), finished, pass(MOMENT)],
  [...away, struck("worker", "append ended", "lateBack"), finished, pass(MOMENT)],
  [...away, struck("worker", "append ended", "lostThere", 4), finished, pass(MOMENT)],
  [...away, struck("worker", "append ended", "lostBack"), finished, pass(MOMENT)],
  [
    ...[...away, struck("worker", "append ended", "lostThere", 3), struck("worker", "append claimed", "lostThere")],
    ...[finished, pass(MOMENT), { do: "wipe" } as const],
  ],
  [...away, struck("worker", "append ended", "lostBack"), { do: "pause", ...of("origin") }, finished, pass(MOMENT)],
  [...away, struck("origin", "read", "lateBack"), finished, pass(MOMENT)],
  [...away, struck("origin", "read", "lostBack", 3), finished, pass(MOMENT)],
  [...away, { do: "pause", ...of("origin") }, finished, pass(MOMENT)],
  [...away, { do: "die", ...of("origin") }, finished, pass(MOMENT)],
  [...away, { do: "deafen", ...of("origin"), ms: LEASE }, finished, pass(MOMENT)],
  [...away, struck("origin", "append received", "lateThere"), finished, pass(MOMENT)],
  [...away, struck("origin", "append received", "lostThere", 4), finished, pass(MOMENT)],
  [...away, struck("worker", "done", "lostThere", 2), finished, pass(MOMENT)],
  [...away, struck("worker", "release", "lostThere", 2), finished, pass(MOMENT)],
  [...begun, ...begun, ...begun, { do: "pause", ...of("origin") }, finished, pass(40_000)],
  // Its server is lost, and it is enqueued anew; begun as often as it may.
  [...away, { do: "die", ...of("worker") }, pass(MOMENT)],
  [...away, { do: "die", ...of("worker") }, pass(2 * LEASE + 10_000)],
  [...away, { do: "die", ...of("worker") }, pass(130_000), { do: "die", ...of("worker") }, pass(130_000)],
  [...away, { do: "pause", ...of("worker") }, pass(170_000)],
  [...away, { do: "pause", ...of("worker") }, pass(130_000)],
  [...away, { do: "unplug", ...of("worker") }, pass(130_000)],
  [...away, { do: "pause", ...of("worker") }, pass(130_000), { do: "die", ...of("worker") }, pass(65_000), woken],
  [
    ...[...away, { do: "unplug", ...of("worker") } as const, pass(85_000), plugged, pass(20_000)],
    ...[{ do: "unplug", ...of("worker") } as const, pass(75_000)],
  ],
  // It is resumed.
  again,
  again,
  [...again, pass(WHILE), asked, pass(WHILE)],
  [copied, ...again, pass(WHILE)],
  [...ended, copied, resumed, pass(MOMENT)],
  [...ended, struck("origin", "enqueue", "lateThere"), struck("any", "enqueue", "lateThere"), resumed, pass(MOMENT)],
  [...ended, resumed, ...asleep, pass(MOMENT)],
  [...again, pass(WHILE), finished, pass(WHILE), resumed, pass(WHILE)],
  [...away, anyOrigin(struck("any", "append received", "lostThere", 4)), finished, pass(WHILE), resumed, pass(MOMENT)],
  // Its model is limited.
  [{ do: "limit", model: "fake/small", most: 1 }, pass(MOMENT), ...begun, ...begun],
  [...asleep, ...begun, ...begun, { do: "limit", model: "fake/small", most: 1 }, woken, pass(WHILE)],
  [...asleep, ...begun, { do: "limit", model: "fake/small", most: 1 }, pass(2 * LEASE + 10_000)],
  [{ do: "limit", model: "fake/small", most: 2 }, pass(20_000), ...begun, ...begun, ...begun],
  [{ do: "limit", model: "fake/small", most: 1 }, pass(MOMENT), ...ended, ...begun, resumed, pass(MOMENT)],
];

/** Something happens to a server, for so long. */
const forAWhile = (who: Who, begins: "die" | "pause" | "unplug", ms: number): readonly FleetStep[] => [
  { do: begins, ...of(who) },
  pass(ms),
  { die: restarted, pause: woken, unplug: plugged }[begins],
];

const DURATIONS = [MOMENT, LEASE / 2, LEASE + 5_000, 130_000];

/** What may happen to it. */
const HAPPENINGS: readonly (readonly FleetStep[])[] = [
  [finished],
  [finished],
  [{ do: "fail", work: NEWEST }],
  [{ do: "callTool", work: NEWEST }],
  [asked],
  [asked, pass(WHILE), asked],
  [answeredAtOrigin],
  [{ do: "answerThere", work: NEWEST }],
  [cancelled],
  [cancelled],
  [resumed],
  [...ended, resumed],
  [launched],
  [{ do: "limit", model: "fake/small", most: 1 }],
  [{ do: "limit", model: "fake/small", most: null }],
  [{ do: "drain", ...of("worker") }, pass(WHILE)],
  [{ do: "undrain" }],
  [woken],
  [restarted],
  ...(["worker", "origin"] as const).flatMap((who) =>
    (["die", "pause", "unplug"] as const).flatMap((begins) => DURATIONS.map((ms) => forAWhile(who, begins, ms))),
  ),
  [{ do: "die", ...of("worker") }],
  [{ do: "die", ...of("worker") }, pass(LEASE + 5_000), woken],
  [{ do: "unplug", ...of("worker") }, pass(LEASE + 5_000), woken],
  [{ do: "pause", ...of("worker") }],
  [{ do: "die", ...of("origin") }, pass(MOMENT), { do: "die", ...of("worker") }, pass(MOMENT), restarted, restarted],
  ...[MOMENT, LEASE / 2, LEASE + 5_000, 130_000].map((ms): FleetStep[] => [
    { do: "cutOff" },
    pass(ms),
    { do: "bringBack" },
  ]),
  [{ do: "wipe" }],
  [{ do: "wipe" }, pass(LOOKED)],
  [{ do: "setBack" }],
  [{ do: "setBack" }, pass(LOOKED)],
  [{ do: "loseJobs" }],
  [{ do: "deafen", ...of("worker"), ms: LEASE }],
  [{ do: "deafen", ...of("origin"), ms: LEASE }],
  [struck("worker", "append ended", "lostBack")],
  [struck("worker", "append ended", "refused")],
  [struck("worker", "append claimed", "lostBack")],
  [struck("worker", "acquire", "lostBack")],
  [struck("worker", "acquire", "lateBack")],
  [struck("worker", "renew", "lostThere", 2)],
  [struck("worker", "read", "lateBack")],
  [struck("origin", "read", "lateBack")],
  [struck("origin", "append ended", "lostBack")],
  [struck("origin", "holder", "lateBack")],
  [struck("origin", "ask", "lateBack"), resumed],
  [struck("origin", "ask", "lostThere"), resumed],
  [pass(WHILE)],
  [pass(LOOKED)],
  [pass(75_000)],
  [pass(IMPATIENT)],
];

/** Any call of a server, or of the origin, meets with any trouble. */
const strike: fc.Arbitrary<readonly FleetStep[]> = fc
  .record({
    who: fc.constantFrom<Who>("worker", "origin"),
    call: fc.constantFrom(...BROKER_CALLS),
    is: fc.constantFrom(...TROUBLES),
  })
  .map(({ who, call, is }) => [struck(who, call, is)]);

const happening = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...HAPPENINGS) }, { weight: 1, arbitrary: strike });

/** Draws what brings a run into a state, and one to three things that happen then, each at once or a while later. */
const encounter: fc.Arbitrary<FleetStep[]> = fc
  .record({
    state: fc.constantFrom(...STATES),
    happens: fc.array(fc.tuple(happening, fc.constantFrom(0, 0, 3_500, WHILE, LOOKED)), {
      minLength: 1,
      maxLength: 3,
      size: "max",
    }),
  })
  .map(({ state, happens }) => [
    ...state,
    ...happens.flatMap(([steps, ms]) => (ms === 0 ? steps : [...steps, pass(ms)])),
    pass(WHILE),
  ]);

/** Draws one or two of these scenes, one after the other. */
export const encounters: fc.Arbitrary<FleetStep[]> = fc
  .array(encounter, { minLength: 1, maxLength: 2, size: "max" })
  .map((scenes) => scenes.flat());
