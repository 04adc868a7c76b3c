import type { Bus, BusFailure } from "../../../src/services/fleet/bus.ts";
import type { Order } from "../../../src/services/fleet/messages.ts";

/** The line from a server to the engine of its fleet, which may be cut. */
export interface Line {
  connect(bus: Bus): Bus;
  isCut(): boolean;
  cut(): void;
  mend(): void;
}

const AWAY: BusFailure = { is: "unavailable", message: "the line is cut" };

/** Creates a line. `onTaken` is called with each order that comes through it. */
export const createLine = (onTaken: (order: Order) => void): Line => {
  let isCut = false;
  let whenMended: (() => void)[] = [];
  /** What is asked arrives, or does not; its answer is lost where the line was cut meanwhile. */
  const through = async <T>(ask: () => Promise<T>): Promise<T | BusFailure> => {
    if (isCut) return AWAY;
    const answer = await ask();
    return isCut ? AWAY : answer;
  };
  const heard =
    <Said extends unknown[]>(listener: (...said: Said) => void) =>
    (...said: Said) =>
      isCut ? undefined : listener(...said);

  return {
    connect: (bus) => ({
      lease: bus.lease,
      append: (...asked) => through(() => bus.append(...asked)),
      read: (...asked) => through(() => bus.read(...asked)),
      offer: (...asked) => through(() => bus.offer(...asked)),
      isOffered: (...asked) => through(() => bus.isOffered(...asked)),
      hold: (...asked) => through(() => bus.hold(...asked)),
      holder: (...asked) => through(() => bus.holder(...asked)),
      limits: () => through(() => bus.limits()),
      drop: async (...asked) => void (await through(() => bus.drop(...asked))),
      take: async (queue) => {
        const taken = await through(() => bus.take(queue));
        if (taken.is !== "taken" || !taken.delivery) return taken;
        const { order, renew, done, putBack } = taken.delivery;
        onTaken(order);
        const delivery = {
          order,
          renew: async () => void (await through(renew)),
          done: async () => void (await through(done)),
          putBack: async (afterMs: number) => void (await through(() => putBack(afterMs))),
        };
        return { is: "taken", delivery };
      },
      ring: (...rung) => (isCut ? undefined : bus.ring(...rung)),
      onEntryAt: (home, listener) => bus.onEntryAt(home, heard(listener)),
      onEntryIn: (log, listener) => bus.onEntryIn(log, heard(listener)),
      onBell: (bell, listener) => bus.onBell(bell, heard(listener)),
      ask: (...asked) => through(() => bus.ask(...asked)),
      presences: () => through(() => bus.presences()),
      onAsked: (server, answer) => bus.onAsked(server, async (question) => (isCut ? undefined : answer(question))),
      onReached: (listener) => {
        const told = heard(listener);
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
    cut: () => {
      isCut = true;
    },
    mend: () => {
      if (!isCut) return;
      isCut = false;
      for (const listener of whenMended) listener();
    },
  };
};
