import fc from "fast-check";
import { CALL_FAULTS, type CallFault, CREATIONS } from "./calls.ts";
import type { Step } from "./steps.ts";

/*
 * What may go wrong between engine and host.
 */

/** Milliseconds: some shorter than every timeout, some longer than a few of them. */
const pause = fc.constantFrom(10, 300, 600, 1_000, 3_000, 8_000);

/** Draws what happens to an event on its way. */
export const wireFault = fc.oneof(
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
export const strike = fc
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
export const madeUnheard = (...ways: CallFault["is"][]): fc.Arbitrary<Step> =>
  fc.record({
    do: fc.constant("strike" as const),
    call: fc.constantFrom(...CREATIONS),
    is: fc.constantFrom(...ways),
    ms: fc.constantFrom(10, 3_000, 20_000, 40_000),
    times: fc.constantFrom(1, 1, 2),
  });

const isCreation = (name: CallFault["call"]): boolean => (CREATIONS as readonly string[]).includes(name);

/** A stopped process may create a session so late that nobody looks for it any more: none is created late. */
export const withoutLateCreation = (drawn: Step): Step =>
  drawn.do === "strike" && isCreation(drawn.call) && drawn.is === "lateThere" ? { ...drawn, is: "lateBack" } : drawn;
