import fc from "fast-check";
import type { Habit } from "../fakes/fake-host.ts";
import { CALL_FAULTS, type CallFault, CREATIONS } from "./calls.ts";
import { MODELS } from "./limits.ts";
import type { Launcher, Step } from "./steps.ts";
import type { Kinds } from "./swarm.ts";

/*
 * What may go wrong between engine and host.
 */

/** Milliseconds: some shorter than every timeout, some longer than a few of them. */
const pause = fc.constantFrom(10, 300, 600, 1_000, 3_000, 8_000);

/** Draws what happens to an event on its way. */
const wireFault = fc.oneof(
  fc.constant({ is: "lost" } as const),
  fc.constant({ is: "doubled" } as const),
  fc.constant({ is: "swapped" } as const),
  fc.record({ is: fc.constantFrom("repeated", "late"), by: pause }),
);

const call = fc.constantFrom<CallFault["call"]>(
  "prompt",
  "prompt",
  "storeMessage",
  "busy",
  "busy",
  "messages",
  "message",
  "session",
  "session",
  "abort",
  "children",
  "createSession",
  "deleteSession",
  "agents",
  "fork",
  "forkedMessages",
  "conversation",
  "updateSession",
  "sessionsSince",
  "allSessions",
  "toolCall",
  "runEvents",
  "rejectUserRequest",
  "answerUserRequest",
  "toast",
);

/** Faults after a few of which a request of a child is left as it is. */
const FINAL_FOR_REQUESTS: ReadonlySet<CallFault["is"]> = new Set(["missing", "refused", "throws"]);

/**
 * Draws what happens to calls. Three of them fail only in some ways. A tool call whose outcome is unknown counts as not
 * stored, and its result is delivered again; so that query is retried. A request that is not found twice counts as answered,
 * and one that cannot be rejected three times is left; so the host errs only once.
 */
const strike = fc
  .record({
    do: fc.constant("strike" as const),
    call,
    is: fc.constantFrom(...CALL_FAULTS),
    ms: pause,
    times: fc.integer({ min: 1, max: 3 }),
  })
  .map((step) => {
    if (step.call === "toolCall") return { ...step, is: "unavailable" as const };
    const isOfRequest = step.call === "rejectUserRequest" || step.call === "answerUserRequest";
    return isOfRequest && FINAL_FOR_REQUESTS.has(step.is) ? { ...step, times: 1 } : step;
  });

/** A session is created but the call seems to fail; the session may appear only after the engine has given up on it. */
const madeUnheard = (...ways: CallFault["is"][]): fc.Arbitrary<Step> =>
  fc.record({
    do: fc.constant("strike" as const),
    call: fc.constantFrom(...CREATIONS),
    is: fc.constantFrom(...ways),
    ms: fc.constantFrom(10, 3_000, 20_000, 40_000),
    times: fc.constantFrom(1, 1, 2),
  });

const isCreation = (name: CallFault["call"]): boolean => (CREATIONS as readonly string[]).includes(name);

/** A stopped process may create a session so late that nobody looks for it any more: none is created late. */
const withoutLateCreation = (drawn: Step): Step =>
  drawn.do === "strike" && isCreation(drawn.call) && drawn.is === "lateThere" ? { ...drawn, is: "lateBack" } : drawn;

type StepOf<Do extends Step["do"]> = fc.Arbitrary<Extract<Step, { do: Do }>>;

const one = <Do extends Step["do"]>(
  name: Do,
  fields: { [Key in keyof Omit<Extract<Step, { do: Do }>, "do">]: fc.Arbitrary<Extract<Step, { do: Do }>[Key]> },
): StepOf<Do> => fc.record({ do: fc.constant(name), ...fields }) as unknown as StepOf<Do>;

const parent = fc.nat(2);
const which = fc.nat(5);
const rarely = fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) });
/** Milliseconds, longer than every lease, timeout, heartbeat and pause between two attempts. */
const LONG = 700_000;

/** Milliseconds that pass at once after a step: none, or more than it takes to serve those that wait for a slot. */
const lasts = fc.constantFrom(0, 4_000);

/** As many tool calls as limits allow, and more, see `limits`: 3 or 6 equal ones, 4 or 12 in all. */
const callCount = fc.constantFrom(1, 3, 4, 6, 12, 21);

const childHabit = fc.constantFrom<Habit>("work", "work", "reply", "ignore", "lose", "reject", "mute");

/** Without these, hardly anything happens. */
const NEEDED: Kinds<Step>["needed"] = [
  [
    13,
    one("launch", {
      parent,
      turn: fc.nat(1),
      from: fc.constantFrom<Launcher>(...Array(7).fill("message"), "step", "step", "fork"),
      wake: fc.constantFrom("each", "all"),
      priority: fc.constantFrom(0, 0, 0, 1),
      agent: fc.constantFrom("general", "general", "general", "explore"),
      model: fc.constantFrom(undefined, undefined, ...MODELS),
      waits: fc.boolean(),
      answer: fc.constantFrom("stored", "stored", "stored", "lost"),
    }),
  ],
  [10, one("answer", { session: which, idles: fc.integer({ min: 1, max: 3 }), unwritten: rarely, unseen: rarely })],
  [9, one("time", { ms: fc.constantFrom(0, 60, 400, 600, 1_200, 2_100, 3_100, 6_000, 6_000, 12_000, 30_000) })],
];

const OPTIONAL: Kinds<Step>["optional"] = [
  [6, one("launchBelow", { task: which })],
  [3, one("delegate", { task: which, timeout: fc.constantFrom(5_000, 30_000), lasts })],
  [6, one("resume", { task: which })],
  [6, one("retry", { task: which })],
  [8, one("steer", { task: which })],
  [4, one("cancel", { task: which })],
  [1, one("cancelAll", { parent })],
  [4, one("pauseTask", { task: which, by: fc.constantFrom("agent", "person") })],
  [6, one("continueTask", { task: which, by: fc.constantFrom("agent", "person") })],
  [2, one("clear", { task: which })],
  [1, one("clearAll", { parent })],
  [
    7,
    one("read", {
      task: which,
      whole: fc.constantFrom("task", "task", "batch"),
      timeout: fc.constantFrom(0, 500, 5_000, 30_000),
      answer: fc.constantFrom("stored", "stored", "lost"),
      storedAfter: fc.constantFrom(0, 0, 0, 400),
    }),
  ],
  [1, one("glance", { task: which })],
  [1, one("list", { parent })],
  [2, one("meddle", { task: which, call: fc.constantFrom("resume", "retry", "steer", "cancel", "clear", "read") })],
  [3, one("abort", { session: which })],
  [2, one("converse", { parent })],
  [1, one("comeBack", { task: which })],
  [1, one("deleteChild", { task: which })],
  [1, one("deleteParent", { parent })],
  [1, one("copy", { parent, before: fc.option(which, { nil: undefined }) })],
  [3, one("fail", { session: which })],
  [2, one("goOnAfterError", { session: which, idle: fc.boolean() })],
  [2, one("compact", { session: which, ms: fc.constantFrom(0, 600, 3_000), overflow: fc.boolean() })],
  [1, one("breakOff", { session: which })],
  [3, one("refuseModel", { session: which })],
  [4, one("refuseForNow", { session: which, ms: fc.constantFrom(600, 3_000, 6_000, 20_000, 650_000) })],
  [3, one("ask", { task: which, kind: fc.constantFrom("permission", "question"), lasts })],
  [1, one("reply", { task: which })],
  [3, one("askByApi", { task: which, kind: fc.constantFrom("cancel", "resume", "resume", "retry", "steer", "steer") })],
  [
    2,
    one("answerByApi", {
      task: which,
      answer: fc.constantFrom("grant", "grant", "reject", "unfit"),
      times: fc.constantFrom(1, 1, 2),
      alsoInOpenCode: rarely,
    }),
  ],
  [5, one("callTools", { task: which, times: callCount, same: fc.boolean() })],
  [2, one("runTool", { task: which, ms: fc.constantFrom(3_000, 12_000, 45_000) })],
  [3, one("spend", { task: which, tokens: fc.constantFrom(10, 600, 1_001), cost: fc.constantFrom(0, 0.3, 0.51) })],
  [2, one("overspend", { task: which })],
  [1, one("circle", { task: which })],
  [1, one("dawdle", { task: which, begins: fc.constantFrom("tool", "question", "nothing") })],
  [3, one("hint", { session: which, says: fc.constantFrom("idle", "idle", "busy") })],
  [4, one("behave", { session: which, habit: childHabit })],
  [2, one("behaveChildren", { habit: childHabit })],
  [6, one("garble", { faults: fc.array(wireFault, { minLength: 1, maxLength: 4 }) })],
  [1, one("time", { ms: fc.constantFrom(70_000, 200_000, LONG) })],
  [3, one("crash", { down: fc.constantFrom(0, 0, 2_000, 20_000) })],
  [5, one("dieSoon", { points: fc.integer({ min: 1, max: 30 }) })],
  [1, one("close", { aborts: fc.boolean() })],
  [1, one("quit", { lingers: fc.constantFrom(100, 1_100, 5_000) })],
  [1, one("pause", { ms: fc.constantFrom(2_000, 20_000) })],
];

/** The steps of the only process. */
export const stepsOfOne: Kinds<Step> = {
  needed: NEEDED,
  optional: [...OPTIONAL, [9, strike], [3, madeUnheard("unheard", "afterwards", "afterwards")]],
};

/** The steps of one of several processes. */
export const stepsOfSeveral: Kinds<Step> = {
  needed: [
    ...NEEDED,
    [18, one("goTo", { process: fc.nat(2) })],
    [5, one("freeze", {})],
    [7, one("wake", {})],
    [12, one("time", { ms: fc.constantFrom(6_000, 12_000, 30_000) })],
  ],
  optional: [...OPTIONAL, [9, strike.map(withoutLateCreation)], [3, madeUnheard("unheard")]],
};
