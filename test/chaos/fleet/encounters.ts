import fc from "fast-check";
import { ENGINE_CALLS, type EngineCall, type FleetStep, LEASE, TROUBLES, type Trouble, type Who } from "./steps.ts";

/*
 * Scenes in which something happens to a run that is in a certain state: each thing in each state. By chance alone, most of
 * these meet too seldom for a promise about them to be tried.
 */

/** Of what there is, that which the scene has begun last. */
const NEWEST = -1;

/** Milliseconds in which what was asked is answered, and what was late has come. */
const MOMENT = 100;
const WHILE = 6_000;

/** Milliseconds after which servers have looked again at all that they look at, and homes as well. */
const LOOKED = LEASE / 2 + 5_000;

/** Longer than an order waits for a server. */
const IMPATIENT = 310_000;

const pass = (ms: number): FleetStep => ({ do: "time", ms });
const of = (who: Who) => ({ who, server: NEWEST }) as const;
const struck = (who: Who, call: EngineCall, is: Trouble, times = 1): FleetStep => ({
  ...{ do: "strike", ...of(who), call, is, times },
});

const launched: FleetStep = { do: "launch", home: 0, agent: "explore" };
const finished: FleetStep = { do: "finish", work: NEWEST };
const cancelled: FleetStep = { do: "cancel", task: NEWEST };
const asked: FleetStep = { do: "ask", work: NEWEST };
const answeredAtHome: FleetStep = { do: "answerAtHome", task: NEWEST };
const resumed: FleetStep = { do: "resume", task: NEWEST };
const copied: FleetStep = { do: "copy" };
const restarted: FleetStep = { do: "restart", server: NEWEST };
const woken: FleetStep = { do: "wake" };
const plugged: FleetStep = { do: "plug" };
const anyHome = (step: FleetStep): FleetStep => ({ ...step, who: "any", server: 0 }) as FleetStep;

const begun: readonly FleetStep[] = [launched, pass(MOMENT)];
const away: readonly FleetStep[] = [...begun, pass(WHILE)];
const ended: readonly FleetStep[] = [...begun, finished, pass(WHILE)];
const again: readonly FleetStep[] = [...ended, resumed, pass(MOMENT)];
const asleep: readonly FleetStep[] = [{ do: "pause", ...of("workers") }];

/** What brings the newest run into a state. */
const STATES: readonly (readonly FleetStep[])[] = [
  // It is being ordered, or cannot be.
  [anyHome(struck("any", "offer", "lateThere")), launched, pass(MOMENT)],
  [anyHome(struck("any", "offer", "lateBack")), launched, pass(MOMENT)],
  [anyHome(struck("any", "offer", "lostThere", 3)), launched, pass(MOMENT)],
  [anyHome(struck("any", "offer", "lostBack", 2)), launched, pass(MOMENT)],
  [anyHome(struck("any", "limits", "lostBack", 3)), launched, pass(MOMENT)],
  [anyHome(struck("any", "offer", "lostBack", 7)), launched, pass(70_000)],
  [anyHome(struck("any", "offer", "lostThere", 7)), launched, pass(70_000)],
  // It waits for a server; for longer than its home waits.
  [...asleep, ...begun],
  [{ do: "drain", ...of("workers") }, pass(20_000), ...begun],
  [...asleep, ...begun, pass(IMPATIENT)],
  [...asleep, anyHome(struck("any", "append ended", "lostBack", 3)), ...begun, pass(IMPATIENT)],
  // It is taken back while the servers are awake again: one may have begun it.
  [...asleep, ...begun, pass(298_000), struck("home", "append ended", "lateThere"), pass(3_000), woken],
  [...asleep, ...begun, pass(298_000), struck("home", "read", "lateBack", 2), pass(3_000), woken],
  [...begun, ...begun, ...begun],
  // A server has the order, the hold, the claim, and knows it or not.
  [struck("workers", "hold", "lateThere"), ...begun],
  [struck("workers", "hold", "lateBack"), ...begun],
  [struck("workers", "hold", "lostBack"), ...begun],
  [struck("workers", "append claimed", "lateThere"), ...begun],
  [struck("workers", "append claimed", "lateBack"), ...begun],
  [struck("workers", "append claimed", "lostBack"), ...begun],
  [struck("workers", "append claimed", "lostThere"), ...begun],
  [{ do: "beginSlowly", ms: WHILE }, ...begun],
  [{ do: "beginSlowly", ms: 2 * LEASE }, ...begun, pass(WHILE)],
  [{ do: "dieAfter", ...of("workers"), calls: 12 }, ...begun],
  // A server works on it, and its home knows that or not; its engine was copied before, or since.
  away,
  away,
  [copied, ...away],
  [...away, copied],
  [...begun, copied, ...begun],
  [launched, { do: "pause", ...of("home") }, pass(WHILE)],
  [launched, { do: "deafen", ...of("home"), ms: 2 * LEASE }, pass(WHILE)],
  [...away, { do: "deafen", ...of("worker"), ms: 2 * LEASE }],
  // Its agent asks, which its home knows or not; was answered, which the server knows or not.
  [...away, asked, pass(MOMENT)],
  [...away, struck("worker", "append asked", "lateThere"), asked, pass(MOMENT)],
  [...away, struck("worker", "append asked", "lostThere", 2), asked, pass(MOMENT)],
  [...away, asked, pass(WHILE), struck("home", "append replied", "lateThere"), answeredAtHome, pass(MOMENT)],
  [...away, asked, pass(WHILE), { do: "deafen", ...of("worker"), ms: LEASE }, answeredAtHome, pass(MOMENT)],
  // It is to stop; its server does not hear of that; nobody has begun it.
  [...away, struck("home", "append recalled", "lateThere"), cancelled, pass(MOMENT)],
  [...away, struck("home", "append recalled", "lostThere"), cancelled, pass(MOMENT)],
  [...away, { do: "deafen", ...of("worker"), ms: 2 * LEASE }, cancelled, pass(MOMENT)],
  [...away, { do: "pause", ...of("worker") }, cancelled, pass(MOMENT)],
  [...away, { do: "pause", ...of("worker") }, cancelled, pass(75_000)],
  [...away, struck("worker", "append ended", "lateThere"), cancelled, pass(MOMENT)],
  [...asleep, ...begun, anyHome(struck("any", "append ended", "lateThere")), cancelled, pass(MOMENT)],
  [...asleep, ...begun, anyHome(struck("any", "append ended", "lostThere", 3)), cancelled, pass(MOMENT)],
  // It has ended there, and the end is not written; is written, and not read; is read, and not confirmed.
  [...away, struck("worker", "append ended", "lateThere"), finished, pass(MOMENT)],
  [...away, struck("worker", "append ended", "lateBack"), finished, pass(MOMENT)],
  [...away, struck("worker", "append ended", "lostThere", 4), finished, pass(MOMENT)],
  [...away, struck("worker", "append ended", "lostBack"), finished, pass(MOMENT)],
  [
    ...[...away, struck("worker", "append ended", "lostThere", 3), struck("worker", "append claimed", "lostThere")],
    ...[finished, pass(MOMENT), { do: "wipe" } as const],
  ],
  [...away, struck("worker", "append ended", "lostBack"), { do: "pause", ...of("home") }, finished, pass(MOMENT)],
  [...away, struck("home", "read", "lateBack"), finished, pass(MOMENT)],
  [...away, struck("home", "read", "lostBack", 3), finished, pass(MOMENT)],
  [...away, { do: "pause", ...of("home") }, finished, pass(MOMENT)],
  [...away, { do: "die", ...of("home") }, finished, pass(MOMENT)],
  [...away, { do: "deafen", ...of("home"), ms: LEASE }, finished, pass(MOMENT)],
  [...away, struck("home", "append received", "lateThere"), finished, pass(MOMENT)],
  [...away, struck("home", "append received", "lostThere", 4), finished, pass(MOMENT)],
  [...away, struck("worker", "done", "lostThere", 2), finished, pass(MOMENT)],
  [...away, struck("worker", "drop", "lostThere", 2), finished, pass(MOMENT)],
  [...begun, ...begun, ...begun, { do: "pause", ...of("home") }, finished, pass(40_000)],
  // Its server is lost, and it is ordered anew; begun as often as it may.
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
  [...ended, struck("home", "offer", "lateThere"), struck("any", "offer", "lateThere"), resumed, pass(MOMENT)],
  [...ended, resumed, ...asleep, pass(MOMENT)],
  [...again, pass(WHILE), finished, pass(WHILE), resumed, pass(WHILE)],
  [...away, anyHome(struck("any", "append received", "lostThere", 4)), finished, pass(WHILE), resumed, pass(MOMENT)],
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
  [answeredAtHome],
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
  ...(["worker", "home"] as const).flatMap((who) =>
    (["die", "pause", "unplug"] as const).flatMap((begins) => DURATIONS.map((ms) => forAWhile(who, begins, ms))),
  ),
  [{ do: "die", ...of("worker") }],
  [{ do: "die", ...of("worker") }, pass(LEASE + 5_000), woken],
  [{ do: "unplug", ...of("worker") }, pass(LEASE + 5_000), woken],
  [{ do: "pause", ...of("worker") }],
  [{ do: "die", ...of("home") }, pass(MOMENT), { do: "die", ...of("worker") }, pass(MOMENT), restarted, restarted],
  ...[MOMENT, LEASE / 2, LEASE + 5_000, 130_000].map((ms): FleetStep[] => [
    { do: "cutOff" },
    pass(ms),
    { do: "bringBack" },
  ]),
  [{ do: "wipe" }],
  [{ do: "wipe" }, pass(LOOKED)],
  [{ do: "setBack" }],
  [{ do: "setBack" }, pass(LOOKED)],
  [{ do: "loseOrders" }],
  [{ do: "deafen", ...of("worker"), ms: LEASE }],
  [{ do: "deafen", ...of("home"), ms: LEASE }],
  [struck("worker", "append ended", "lostBack")],
  [struck("worker", "append ended", "refused")],
  [struck("worker", "append claimed", "lostBack")],
  [struck("worker", "hold", "lostBack")],
  [struck("worker", "hold", "lateBack")],
  [struck("worker", "renew", "lostThere", 2)],
  [struck("worker", "read", "lateBack")],
  [struck("home", "read", "lateBack")],
  [struck("home", "append ended", "lostBack")],
  [struck("home", "holder", "lateBack")],
  [struck("home", "ask", "lateBack"), resumed],
  [struck("home", "ask", "lostThere"), resumed],
  [pass(WHILE)],
  [pass(LOOKED)],
  [pass(75_000)],
  [pass(IMPATIENT)],
];

/** Any call of a server, or of the home, meets with any trouble. */
const strike: fc.Arbitrary<readonly FleetStep[]> = fc
  .record({
    who: fc.constantFrom<Who>("worker", "home"),
    call: fc.constantFrom(...ENGINE_CALLS),
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
