import type { Broker } from "../../src/services/fleet/broker.ts";
import type { Host } from "../../src/services/host/host.ts";
import type { Clock } from "../../src/services/platform/clock.ts";
import type { Store } from "../../src/services/store/store.ts";

/**
 * A simulated process that can die at any call to the host or the store. It passes a point before and after each call; at
 * its last point it dies: from then on nothing that it does, or waits for, happens.
 */
export interface FakeProcess {
  /** The points passed so far, such as `host.prompt: called`. */
  points: string[];
  isOver(): boolean;
  die(): void;
  /** Calls `then` when it has died. */
  whenOver(then: () => void): void;
  /** Makes the process die at the `points`-th point from now. */
  dieAfter(points: number): void;
  /** Stops the process, as SIGSTOP does: timers that fire and answers that come wait until it wakes. */
  pause(): void;
  isPaused(): boolean;
  wake(): void;
  clock(real: Clock): Clock;
  host<H extends Host>(real: H): H;
  store(real: Store): Store;
  /** Its connection to the broker of a fleet. */
  broker(real: Broker): Broker;
}

const never = (): Promise<never> => new Promise(() => undefined);

/** Store calls that change nothing. They are no points: dying there equals dying right after the previous call. */
const READS: ReadonlySet<string> = new Set<keyof Store>([
  "get",
  "list",
  "below",
  "journal",
  "isOwnedElsewhere",
  "otherSupervisor",
  "places",
]);

/** Creates a process that dies at its `lastPoint`-th point, counted from 1. Default: it does not die. */
export const createFakeProcess = (lastPoint = Number.POSITIVE_INFINITY): FakeProcess => {
  const points: string[] = [];
  let over = false;
  let last = lastPoint;
  /** Calls that wait for the paused process to continue; undefined while it runs. */
  let asleep: (() => void)[] | undefined;
  const whenAwake = (then: () => void) => (asleep ? asleep.push(then) : then());
  const dead: (() => void)[] = [];
  const die = () => {
    if (over) return;
    over = true;
    for (const then of dead) then();
  };
  const pass = (point: string): boolean => {
    if (over) return false;
    points.push(point);
    if (points.length >= last) die();
    return !over;
  };
  return {
    points,
    isOver: () => over,
    die,
    whenOver: (then) => void dead.push(then),
    dieAfter: (more) => {
      last = points.length + more;
    },
    pause: () => {
      asleep ??= [];
    },
    isPaused: () => asleep !== undefined,
    wake: () => {
      const waiting = asleep ?? [];
      asleep = undefined;
      for (const then of waiting) then();
    },
    clock: (real) => ({
      now: real.now,
      after: (ms, fire) => real.after(ms, () => (over ? undefined : whenAwake(fire))),
    }),
    host: (real) =>
      new Proxy(real, {
        get: (target, name, receiver) => {
          const member: unknown = Reflect.get(target, name, receiver);
          if (typeof member !== "function") return member;
          return async (...args: unknown[]) => {
            if (!pass(`host.${String(name)}: not called yet`)) return never();
            const answer: unknown = await member.apply(target, args);
            await new Promise<void>(whenAwake);
            return pass(`host.${String(name)}: called`) ? answer : never();
          };
        },
      }),
    broker: (real) =>
      new Proxy(real, {
        get: (target, name, receiver) => {
          const member: unknown = Reflect.get(target, name, receiver);
          if (typeof member !== "function") return member;
          if (name === "notify")
            return (...sent: Parameters<Broker["notify"]>) => (over ? undefined : real.notify(...sent));
          if (name === "onAsked") {
            // Whoever asks a process that is gone waits for nothing.
            return (...[server, answer]: Parameters<Broker["onAsked"]>) =>
              real.onAsked(server, async (question) => {
                if (over) return never();
                await new Promise<void>(whenAwake);
                return answer(question);
              });
          }
          if (String(name).startsWith("on")) {
            return (...args: unknown[]) => {
              const listener = args.pop() as (...said: unknown[]) => void;
              return member.apply(target, [
                ...args,
                (...said: unknown[]) => (over ? undefined : whenAwake(() => listener(...said))),
              ]);
            };
          }
          return async (...args: unknown[]) => {
            if (!pass(`broker.${String(name)}: not called yet`)) return never();
            const answer: unknown = await member.apply(target, args);
            await new Promise<void>(whenAwake);
            return pass(`broker.${String(name)}: called`) ? answer : never();
          };
        },
      }),
    store: (real) =>
      new Proxy(real, {
        get: (target, name, receiver) => {
          const member: unknown = Reflect.get(target, name, receiver);
          if (typeof member !== "function" || READS.has(String(name))) return member;
          return (...args: unknown[]) => {
            const cut = () => new Error("the process has died");
            if (!pass(`store.${String(name)}: not called yet`)) throw cut();
            const answer: unknown = member.apply(target, args);
            if (!pass(`store.${String(name)}: called`)) throw cut();
            return answer;
          };
        },
      }),
  };
};
