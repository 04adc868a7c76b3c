import type { Bus, BusFailure } from "../../../src/services/fleet/bus.ts";
import type { Entry, Order, RunName } from "../../../src/services/fleet/messages.ts";
import { type Clock, sleep } from "../../../src/services/platform/clock.ts";
import type { EngineCall, Trouble } from "./steps.ts";

/** The line from a server to the engine of its fleet, which may be cut, or be bad. */
export interface Line {
  connect(bus: Bus): Bus;
  isCut(): boolean;
  cut(): void;
  mend(): void;
  /** The next calls of that name meet with trouble, within a while. */
  strike(call: EngineCall, is: Trouble, times: number): void;
  /** True while calls may still meet with trouble, or are late. */
  isBad(): boolean;
  isDeaf(): boolean;
  /** For so many milliseconds no hint comes through, in either direction. */
  deafen(ms: number): void;
}

/** What is known of what goes through a line. */
export interface LineEvents {
  /** An order was taken. */
  onTaken(order: Order): void;
  /** An order was given back, or removed. */
  onGivenBack(order: Order): void;
  /** A hold was to be taken that somebody has. */
  onOutrun(hold: string): void;
  /** A call met with trouble. */
  onTrouble(call: EngineCall, is: Trouble): void;
  /** An entry came into the log of a run. */
  onWritten(log: RunName, entry: Entry): void;
}

const AWAY: BusFailure = { is: "unavailable", message: "the line is bad" };
const REFUSED: BusFailure = { is: "refused", message: "the engine refuses it" };

/** Milliseconds by which what is late is late: the engine is waited for a little longer. */
const LATE = 3_000;

/** Milliseconds after which a trouble that nothing met with is over. */
const TROUBLED_FOR = 90_000;

/** Creates a line. */
export const createLine = (
  clock: Clock,
  { onTaken, onGivenBack, onOutrun, onTrouble, onWritten }: LineEvents,
): Line => {
  let isCut = false;
  let deafUntil = 0;
  let late = 0;
  let whenMended: (() => void)[] = [];
  const strikes = new Map<EngineCall, { is: Trouble; times: number; until: number }>();

  const troubleOf = (call: EngineCall): Trouble | undefined => {
    const strike = strikes.get(call);
    if (!strike || strike.times === 0 || strike.until < clock.now()) return undefined;
    strike.times -= 1;
    onTrouble(call, strike.is);
    return strike.is;
  };
  const delay = async () => {
    late += 1;
    await sleep(clock, LATE);
    late -= 1;
  };
  /** What is asked arrives, or does not; its answer is lost where the line was cut meanwhile. */
  const through = async <T>(call: EngineCall | undefined, ask: () => Promise<T>): Promise<T | BusFailure> => {
    if (isCut) return AWAY;
    const trouble = call && troubleOf(call);
    if (trouble === "lostThere") return AWAY;
    if (trouble === "refused") return REFUSED;
    if (trouble === "lateThere") await delay();
    if (isCut) return AWAY;
    const answer = await ask();
    if (trouble === "lateBack") await delay();
    return isCut || trouble === "lostBack" ? AWAY : answer;
  };
  const isDeaf = () => isCut || deafUntil > clock.now();
  const heard =
    <Said extends unknown[]>(listener: (...said: Said) => void) =>
    (...said: Said) =>
      isDeaf() ? undefined : listener(...said);

  return {
    connect: (bus) => ({
      lease: bus.lease,
      append: (log, entry, after) =>
        through(`append ${entry.type}`, async () => {
          const written = await bus.append(log, entry, after);
          if (written.is === "stored") onWritten(log, entry);
          return written;
        }),
      read: (...asked) => through("read", () => bus.read(...asked)),
      offer: (...asked) => through("offer", () => bus.offer(...asked)),
      isOffered: (...asked) => through("isOffered", () => bus.isOffered(...asked)),
      hold: (name, holder, after) =>
        through("hold", async () => {
          const held = await bus.hold(name, holder, after);
          if (held.is === "outrun" && after === 0) onOutrun(name);
          return held;
        }),
      holder: (...asked) => through("holder", () => bus.holder(...asked)),
      limits: () => through("limits", () => bus.limits()),
      drop: async (...asked) => void (await through("drop", () => bus.drop(...asked))),
      take: async (queue) => {
        const taken = await through("take", () => bus.take(queue));
        if (taken.is !== "taken" || !taken.delivery) return taken;
        const { order, renew, done, putBack } = taken.delivery;
        onTaken(order);
        const delivery = {
          order,
          renew: async () => void (await through("renew", renew)),
          done: async () => {
            onGivenBack(order);
            await through("done", done);
          },
          putBack: async (afterMs: number) => {
            onGivenBack(order);
            await through("putBack", () => putBack(afterMs));
          },
        };
        return { is: "taken", delivery };
      },
      ring: (...rung) => (isDeaf() ? undefined : bus.ring(...rung)),
      onEntryAt: (home, listener) => bus.onEntryAt(home, heard(listener)),
      onEntryIn: (log, listener) => bus.onEntryIn(log, heard(listener)),
      onBell: (bell, listener) => bus.onBell(bell, heard(listener)),
      ask: (...asked) => through("ask", () => bus.ask(...asked)),
      presences: () => through(undefined, () => bus.presences()),
      onAsked: (server, answer) => bus.onAsked(server, async (question) => (isCut ? undefined : answer(question))),
      onReached: (listener) => {
        const told = (): void => (isCut ? undefined : listener());
        whenMended.push(told);
        const stop = bus.onReached(told);
        return () => {
          whenMended = whenMended.filter((other) => other !== told);
          stop();
        };
      },
      close: () => bus.close(),
    }),
    isCut: () => isCut,
    isDeaf,
    cut: () => {
      isCut = true;
    },
    mend: () => {
      deafUntil = 0;
      strikes.clear();
      if (!isCut) return;
      isCut = false;
      for (const listener of whenMended) listener();
    },
    strike: (call, is, times) => void strikes.set(call, { is, times, until: clock.now() + TROUBLED_FOR }),
    isBad: () => late > 0 || [...strikes.values()].some(({ times, until }) => times > 0 && until >= clock.now()),
    deafen: (ms) => {
      deafUntil = clock.now() + ms;
    },
  };
};
