import fc from "fast-check";
import type { Wake } from "../../src/task.ts";
import type { Habit } from "../fakes/fake-host.ts";
import { CALL_FAULTS, type CallFault, CREATIONS } from "./calls.ts";
import type { EventFault } from "./event-stream.ts";
import { MODELS } from "./limits.ts";

/**
 * What launches a task: a tool call in a message of which the host knows nothing, or in one of the steps of a turn; the
 * latter may also fork.
 */
export type Launcher = "message" | "step" | "fork";

/**
 * One step of a schedule. Numbers select among what exists at that moment (modulo its count), those below 0 from its end; if
 * nothing exists, the step does nothing. Times are milliseconds.
 */
export type Step =
  // The agents, through the tools.
  | {
      do: "launch";
      parent: number;
      turn: number;
      from: Launcher;
      wake: Wake;
      priority: number;
      agent: "general" | "explore";
      model: (typeof MODELS)[number] | undefined;
      /** True for a call that waits for the end, where the toolset leaves the choice. */
      waits: boolean;
      answer: "stored" | "lost";
    }
  | { do: "launchBelow"; task: number }
  | { do: "delegate"; task: number; timeout: number; lasts: number }
  | { do: "resume"; task: number }
  | { do: "steer"; task: number }
  | { do: "cancel"; task: number }
  | { do: "cancelAll"; parent: number }
  | { do: "clear"; task: number }
  | { do: "clearAll"; parent: number }
  | {
      do: "read";
      task: number;
      whole: "task" | "batch";
      timeout: number;
      answer: "stored" | "lost";
      /** After how long the host has stored the answer, or lost it. */
      storedAfter: number;
    }
  | { do: "glance"; task: number }
  | { do: "list"; parent: number }
  | { do: "meddle"; task: number; call: "resume" | "steer" | "cancel" | "clear" | "read" }
  // Users.
  | { do: "abort"; session: number }
  | { do: "converse"; parent: number }
  /** A person goes on in the session of a task that failed or was cancelled, and has its agent launch a task. */
  | { do: "comeBack"; task: number }
  | { do: "deleteChild"; task: number }
  | { do: "deleteParent"; parent: number }
  | { do: "copy"; parent: number; before: number | undefined }
  /** A person asks something of a task by the status API of this process. */
  | { do: "askByApi"; task: number; kind: "cancel" | "resume" | "steer" }
  /**
   * People answer what a task asks by the status API of this process, so many at once, and one of them perhaps in OpenCode.
   * An unfit answer does not belong to what is asked.
   */
  | { do: "answerByApi"; task: number; answer: "grant" | "reject" | "unfit"; times: number; alsoInOpenCode: boolean }
  // The host and its models.
  | { do: "answer"; session: number; idles: number; unwritten: boolean; unseen: boolean }
  | { do: "fail"; session: number }
  /** The host reports an error, and goes on with the run by itself. */
  | { do: "goOnAfterError"; session: number; idle: boolean }
  /** The host sums a conversation up: by itself where it works, or because a person asks for it. */
  | { do: "compact"; session: number; ms: number; overflow: boolean }
  /** A turn ends after a tool call, without an answer. */
  | { do: "breakOff"; session: number }
  | { do: "refuseModel"; session: number }
  | { do: "refuseForNow"; session: number; ms: number }
  | { do: "ask"; task: number; kind: "permission" | "question"; lasts: number }
  | { do: "reply"; task: number }
  | { do: "callTools"; task: number; times: number; same: boolean }
  | { do: "runTool"; task: number; ms: number }
  | { do: "spend"; task: number; tokens: number; cost: number }
  | { do: "overspend"; task: number }
  /** A run's time is over, and something begins while its last words are read. */
  | { do: "dawdle"; task: number; begins: "tool" | "question" | "nothing" }
  | { do: "hint"; session: number; says: "idle" | "busy" }
  | { do: "behave"; session: number; habit: Habit }
  | { do: "behaveChildren"; habit: Habit }
  // The connection between host and engine.
  | { do: "garble"; faults: EventFault[] }
  | ({ do: "strike"; times: number } & CallFault)
  // The process.
  | { do: "time"; ms: number }
  | { do: "crash"; down: number }
  | { do: "dieSoon"; points: number }
  | { do: "close"; aborts: boolean }
  | { do: "quit"; lingers: number }
  | { do: "pause"; ms: number }
  // Several processes. What follows happens in that one.
  | { do: "goTo"; process: number }
  /** Stops the process, as SIGSTOP does, until it wakes. */
  | { do: "freeze" }
  | { do: "wake" };

type StepOf<Do extends Step["do"]> = fc.Arbitrary<Extract<Step, { do: Do }>>;

const one = <Do extends Step["do"]>(
  name: Do,
  fields: { [Key in keyof Omit<Extract<Step, { do: Do }>, "do">]: fc.Arbitrary<Extract<Step, { do: Do }>[Key]> },
): StepOf<Do> => fc.record({ do: fc.constant(name), ...fields }) as unknown as StepOf<Do>;

const parent = fc.nat(2);
const which = fc.nat(5);
const rarely = fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) });
/** Milliseconds: some shorter than every timeout, some longer than a few of them. */
const pause = fc.constantFrom(10, 300, 600, 1_000, 3_000, 8_000);

/** Milliseconds, longer than every lease, timeout, heartbeat and pause between two attempts. */
const LONG = 700_000;

/** Milliseconds that pass at once after a step: none, or more than it takes to serve those that wait for a slot. */
const lasts = fc.constantFrom(0, 4_000);

const childHabit = fc.constantFrom<Habit>("work", "work", "reply", "ignore", "lose", "reject", "mute");

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
  "rejectUserRequest",
  "answerUserRequest",
  "toast",
);

/** Faults after a few of which a request of a child is left as it is. */
const FINAL_FOR_REQUESTS: ReadonlySet<CallFault["is"]> = new Set(["missing", "refused", "throws"]);

/**
 * Three calls fail only in some ways. A tool call whose outcome is unknown counts as not stored, and its result is delivered
 * again; so that query is retried. A request that is not found twice counts as answered, and one that cannot be rejected
 * three times is left; so the host errs only once.
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

const weighted = (steps: [number, fc.Arbitrary<Step>][]) =>
  fc.oneof(...steps.map(([weight, arbitrary]) => ({ weight, arbitrary })));

const STEPS: [number, fc.Arbitrary<Step>][] = [
  [
    22,
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
  [6, one("launchBelow", { task: which })],
  [3, one("delegate", { task: which, timeout: fc.constantFrom(5_000, 30_000), lasts })],
  [6, one("resume", { task: which })],
  [8, one("steer", { task: which })],
  [4, one("cancel", { task: which })],
  [1, one("cancelAll", { parent })],
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
  [2, one("meddle", { task: which, call: fc.constantFrom("resume", "steer", "cancel", "clear", "read") })],
  [3, one("abort", { session: which })],
  [2, one("converse", { parent })],
  [1, one("comeBack", { task: which })],
  [1, one("deleteChild", { task: which })],
  [1, one("deleteParent", { parent })],
  [1, one("copy", { parent, before: fc.option(which, { nil: undefined }) })],
  [16, one("answer", { session: which, idles: fc.integer({ min: 1, max: 3 }), unwritten: rarely, unseen: rarely })],
  [3, one("fail", { session: which })],
  [2, one("goOnAfterError", { session: which, idle: fc.boolean() })],
  [2, one("compact", { session: which, ms: fc.constantFrom(0, 600, 3_000), overflow: fc.boolean() })],
  [1, one("breakOff", { session: which })],
  [3, one("refuseModel", { session: which })],
  [4, one("refuseForNow", { session: which, ms: fc.constantFrom(600, 3_000, 6_000, 20_000) })],
  [3, one("ask", { task: which, kind: fc.constantFrom("permission", "question"), lasts })],
  [1, one("reply", { task: which })],
  [3, one("askByApi", { task: which, kind: fc.constantFrom("cancel", "resume", "resume", "steer", "steer") })],
  [
    2,
    one("answerByApi", {
      task: which,
      answer: fc.constantFrom("grant", "grant", "reject", "unfit"),
      times: fc.constantFrom(1, 1, 2),
      alsoInOpenCode: rarely,
    }),
  ],
  [4, one("callTools", { task: which, times: fc.constantFrom(1, 5, 7, 9, 21), same: fc.boolean() })],
  [2, one("runTool", { task: which, ms: fc.constantFrom(3_000, 12_000, 45_000) })],
  [3, one("spend", { task: which, tokens: fc.constantFrom(10, 600, 1_001), cost: fc.constantFrom(0, 0.3, 0.51) })],
  [2, one("overspend", { task: which })],
  [1, one("dawdle", { task: which, begins: fc.constantFrom("tool", "question", "nothing") })],
  [3, one("hint", { session: which, says: fc.constantFrom("idle", "idle", "busy") })],
  [4, one("behave", { session: which, habit: childHabit })],
  [2, one("behaveChildren", { habit: childHabit })],
  [6, one("garble", { faults: fc.array(wireFault, { minLength: 1, maxLength: 4 }) })],
  [9, strike],
  [14, one("time", { ms: fc.constantFrom(0, 60, 400, 600, 1_200, 2_100, 3_100, 6_000, 6_000, 12_000, 30_000) })],
  [1, one("time", { ms: fc.constantFrom(70_000, 200_000, LONG) })],
  [3, one("crash", { down: fc.constantFrom(0, 0, 2_000, 20_000) })],
  [5, one("dieSoon", { points: fc.integer({ min: 1, max: 30 }) })],
  [1, one("close", { aborts: fc.boolean() })],
  [1, one("quit", { lingers: fc.constantFrom(100, 1_100, 5_000) })],
  [1, one("pause", { ms: fc.constantFrom(2_000, 20_000) })],
];

/** Draws a step of the only process. */
export const step: fc.Arbitrary<Step> = weighted([...STEPS, [3, madeUnheard("unheard", "afterwards", "afterwards")]]);

const isCreation = (name: CallFault["call"]): boolean => (CREATIONS as readonly string[]).includes(name);

/** A stopped process may create a session so late that nobody looks for it any more: none is created late. */
const withoutLateCreation = (drawn: Step): Step =>
  drawn.do === "strike" && isCreation(drawn.call) && drawn.is === "lateThere" ? { ...drawn, is: "lateBack" } : drawn;

/** Draws a step of one of several processes. */
export const stepOfSeveral: fc.Arbitrary<Step> = weighted([
  ...STEPS,
  [3, madeUnheard("unheard")],
  [30, one("goTo", { process: fc.nat(2) })],
  [8, one("freeze", {})],
  [12, one("wake", {})],
  [20, one("time", { ms: fc.constantFrom(6_000, 12_000, 30_000) })],
]).map(withoutLateCreation);

/** Formats a step, such as `read task=2 whole=task timeout=500 answer=stored`. */
export const wordsOf = ({ do: name, ...fields }: Step): string =>
  [
    name,
    ...Object.entries(fields).map(
      ([key, value]) => `${key}=${typeof value === "object" ? JSON.stringify(value) : String(value)}`,
    ),
  ].join(" ");
