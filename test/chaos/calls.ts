import type { Host, HostResult } from "../../src/services/host/host.ts";
import type { Clock } from "../../src/services/platform/clock.ts";
import { type FakeHost, missing, refused, unavailable } from "../fakes/fake-host.ts";

export type HostCall = keyof Host;

/**
 * What happens to a call to the host.
 * - `unavailable`, `refused`: it fails and has no effect
 * - `missing`: it fails with a 404 although nothing was deleted, and has no effect
 * - `unheard`: it takes effect but seems to have failed
 * - `throws`: our own adapter throws
 * - `lateThere`, `lateBack`: the call, or its answer, is delayed
 * - `afterwards`: it fails, but takes effect a while later
 */
export const CALL_FAULTS = ["unavailable", "refused", "missing", "unheard", "throws", "lateThere", "lateBack"] as const;

/** The calls that create a session. */
export const CREATIONS = ["createSession", "fork"] as const satisfies HostCall[];

export interface CallFault {
  call: HostCall;
  is: (typeof CALL_FAULTS)[number] | "afterwards";
  /** Milliseconds of the delay, for faults that delay. */
  ms: number;
}

/** The calls from the engine to the host, any of which may fail. */
export interface Calls {
  /** Applies the fault to the next call of that name. */
  expect(fault: CallFault): void;
  /** Returns the host as the process sees it whose clock `clockNow` returns. */
  to(host: FakeHost, clockNow: () => Clock): FakeHost;
  mend(): void;
  /** The names of the calls that a fault has been applied to. */
  struck: ReadonlySet<string>;
  /** Number of sessions that were not created, although the engine was not told so. */
  unmade(): number;
}

/** Is notified of each call and each fault. */
export interface CallListener {
  called(name: HostCall, args: unknown[]): void;
  struck(name: HostCall, args: unknown[], fault: CallFault): void;
}

const CALLS: ReadonlySet<string> = new Set<HostCall>([
  "agents",
  "session",
  "createSession",
  "deleteSession",
  "children",
  "prompt",
  "storeMessage",
  "abort",
  "busy",
  "messages",
  "fork",
  "forkedMessages",
  "rewritePart",
  "deleteMessage",
  "updateSession",
  "conversation",
  "sessionsSince",
  "allSessions",
  "toolCall",
  "runEvents",
  "rawMessages",
  "message",
  "rejectUserRequest",
  "answerUserRequest",
  "toast",
]);

const isCall = (name: string | symbol): name is HostCall => typeof name === "string" && CALLS.has(name);

export const createCalls = (listener: CallListener): Calls => {
  const faults = new Map<HostCall, CallFault[]>();
  const struck = new Set<string>();
  let unmade = 0;

  const meet = async (fault: CallFault, call: () => Promise<unknown>, clock: Clock): Promise<unknown> => {
    const pass = () => new Promise<void>((resolve) => void clock.after(fault.ms, resolve));
    const isCreation = (CREATIONS as readonly string[]).includes(fault.call);
    if (isCreation && (fault.is === "unavailable" || fault.is === "throws")) unmade += 1;
    switch (fault.is) {
      case "unavailable":
        return { ok: false, failure: unavailable };
      case "refused":
        return { ok: false, failure: refused };
      case "missing":
        return { ok: false, failure: missing };
      case "throws":
        throw new Error(`a fault in the call ${fault.call}`);
      case "unheard":
        await call();
        return { ok: false, failure: unavailable };
      case "lateThere":
        await pass();
        return call();
      case "lateBack": {
        const answer = await call();
        await pass();
        return answer;
      }
      case "afterwards":
        clock.after(fault.ms, () => {
          // A fork of a session that has been deleted meanwhile is none.
          void call().then((late) => {
            if (isCreation && !(late as HostResult<unknown>).ok) unmade += 1;
          });
        });
        return { ok: false, failure: unavailable };
    }
  };

  return {
    expect: (fault) => {
      faults.set(fault.call, [...(faults.get(fault.call) ?? []), fault]);
    },
    to: (host, clockNow) =>
      new Proxy(host, {
        get: (target, name) => {
          const member: unknown = Reflect.get(target, name);
          if (!isCall(name) || typeof member !== "function") return member;
          return (...args: unknown[]): Promise<unknown> => {
            const call = () => member.apply(target, args) as Promise<unknown>;
            const fault = faults.get(name)?.shift();
            listener.called(name, args);
            if (!fault) return call();
            struck.add(name);
            listener.struck(name, args, fault);
            return meet(fault, call, clockNow());
          };
        },
      }),
    mend: () => faults.clear(),
    struck,
    unmade: () => unmade,
  };
};
