import type { Broker, BrokerFailure } from "../../../src/services/fleet/broker.ts";
import type { Entry, Job, RunName } from "../../../src/services/fleet/wire-messages.ts";
import { type Clock, sleep } from "../../../src/services/platform/clock.ts";
import type { BrokerCall, Trouble } from "./steps.ts";

/** The line from a server to the broker of its fleet, which may be cut, or be bad. */
export type Line = ReturnType<typeof createLine>;

/** What is known of what goes through a line. */
export interface LineEvents {
  /** A job was taken. */
  onTaken(job: Job): void;
  /** A job was given back, or removed. */
  onGivenBack(job: Job): void;
  /** A lease was to be taken that somebody has. */
  onConflict(lease: string): void;
  /** A call met with trouble. */
  onTrouble(call: BrokerCall, is: Trouble): void;
  /** An entry came into the log of a run. */
  onWritten(log: RunName, entry: Entry): void;
}

const AWAY: BrokerFailure = { is: "unavailable", message: "the line is bad" };
const REFUSED: BrokerFailure = { is: "refused", message: "the broker refuses it" };

/** Milliseconds by which what is late is late: the broker is waited for a little longer. */
const LATE = 3_000;

/** Milliseconds after which a trouble that nothing met with is over. */
const TROUBLED_FOR = 90_000;

/** Creates a line. */
export const createLine = (clock: Clock, { onTaken, onGivenBack, onConflict, onTrouble, onWritten }: LineEvents) => {
  let isCut = false;
  let deafUntil = 0;
  let late = 0;
  let whenMended: (() => void)[] = [];
  const strikes = new Map<BrokerCall, { is: Trouble; times: number; until: number }>();

  const troubleOf = (call: BrokerCall): Trouble | undefined => {
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
  const through = async <T>(call: BrokerCall | undefined, ask: () => Promise<T>): Promise<T | BrokerFailure> => {
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
    connect: (broker: Broker): Broker => ({
      leaseMs: broker.leaseMs,
      append: (log, entry, after) =>
        through(`append ${entry.type}`, async () => {
          const written = await broker.append(log, entry, after);
          if (written.is === "stored") onWritten(log, entry);
          return written;
        }),
      read: (...asked) => through("read", () => broker.read(...asked)),
      enqueue: (...asked) => through("enqueue", () => broker.enqueue(...asked)),
      isQueued: (...asked) => through("isQueued", () => broker.isQueued(...asked)),
      acquire: (name, holder, after) =>
        through("acquire", async () => {
          const held = await broker.acquire(name, holder, after);
          if (held.is === "conflict" && after === 0) onConflict(name);
          return held;
        }),
      holder: (...asked) => through("holder", () => broker.holder(...asked)),
      limits: () => through("limits", () => broker.limits()),
      release: async (...asked) => void (await through("release", () => broker.release(...asked))),
      take: async (queue) => {
        const taken = await through("take", () => broker.take(queue));
        if (taken.is !== "taken" || !taken.delivery) return taken;
        const { job, renew, done, requeue } = taken.delivery;
        onTaken(job);
        const delivery = {
          job,
          renew: async () => void (await through("renew", renew)),
          done: async () => {
            onGivenBack(job);
            await through("done", done);
          },
          requeue: async (afterMs: number) => {
            onGivenBack(job);
            await through("requeue", () => requeue(afterMs));
          },
        };
        return { is: "taken", delivery };
      },
      notify: (...notified) => (isDeaf() ? undefined : broker.notify(...notified)),
      onEntryAt: (origin, listener) => broker.onEntryAt(origin, heard(listener)),
      onEntryIn: (log, listener) => broker.onEntryIn(log, heard(listener)),
      onNotified: (topic, listener) => broker.onNotified(topic, heard(listener)),
      ask: (...asked) => through("ask", () => broker.ask(...asked)),
      presences: () => through(undefined, () => broker.presences()),
      onAsked: (server, answer) => broker.onAsked(server, async (question) => (isCut ? undefined : answer(question))),
      onReached: (listener) => {
        const told = (): void => (isCut ? undefined : listener());
        whenMended.push(told);
        const stop = broker.onReached(told);
        return () => {
          whenMended = whenMended.filter((other) => other !== told);
          stop();
        };
      },
      close: () => broker.close(),
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
    /** The next calls of that name meet with trouble, within a while. */
    strike: (call: BrokerCall, is: Trouble, times: number) =>
      void strikes.set(call, { is, times, until: clock.now() + TROUBLED_FOR }),
    /** True while calls may still meet with trouble, or are late. */
    isBad: () => late > 0 || [...strikes.values()].some(({ times, until }) => times > 0 && until >= clock.now()),
    /** For so many milliseconds no hint comes through, in either direction. */
    deafen: (ms: number) => {
      deafUntil = clock.now() + ms;
    },
  };
};
