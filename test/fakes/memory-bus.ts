import {
  ANSWERED_WITHIN,
  type Bus,
  type BusFailure,
  type Delivery,
  MOST_PRESENT,
  PRESENT_WITHIN,
  type Queue,
} from "../../src/services/fleet/bus.ts";
import type { Entry, Order, RunName } from "../../src/services/fleet/messages.ts";
import {
  type AnswerTo,
  EVERYBODY,
  type Presence,
  type Question,
  readAnswer,
  readQuestion,
} from "../../src/services/fleet/questions.ts";
import type { Clock } from "../../src/services/platform/clock.ts";
import type { Claim } from "../../src/task.ts";

/** The engine of a fleet, in memory. */
export interface MemoryEngine {
  connect(): Bus;
  /** From now on nobody reaches it. What it has stays. */
  cutOff(): void;
  /** It is reached again. */
  bringBack(): void;
  /** It is set up anew: nothing is left of what it had. */
  wipe(): void;
  /** Copies all that it has. Returns how to set it back to that: it gives the places of what came since a second time. */
  copy(): () => void;
  /** Has the next calls of that name take effect, though their answer is lost. */
  loseAnswer(call: keyof Bus, times?: number): void;
  /** Loses the next entries of that type on their way: they are in no log, and whoever wrote them is told nothing. */
  lose(type: Entry["type"], times: number): void;
  /** How many orders are queued or taken. */
  orders(): number;
  /** The orders that are queued or taken, and when each can be taken next, epoch milliseconds. */
  queue(): { order: Order; from: number }[];
  /** The names of the holds that somebody has. */
  holds(): string[];
  /** Who has a hold; undefined where nobody has. */
  holderOf(name: string): string | undefined;
  /** What stands in the log of each run, by the names of runs. */
  logs(): [name: string, entries: Entry[]][];
  /** What stands in the log of a run, with its places. */
  placesIn(log: string): { at: Claim; entry: Entry }[];
  /** Says how many tasks of a model may be at work, by `provider/model`. */
  limit(limits: Readonly<Record<string, number | null>>): void;
  /** Says which servers are to take no more orders. */
  drain(servers: readonly string[]): void;
  /** It loses all orders, and nothing else. */
  loseOrders(): void;
}

interface Queued {
  order: Order;
  seq: number;
  /** Nobody gets it before, epoch milliseconds. */
  from: number;
  delivery: number;
}

/** Somebody who answers for a server. */
interface Answering {
  server: string;
  answer: Parameters<Bus["onAsked"]>[1];
}

const AWAY: BusFailure = { is: "unavailable", message: "no engine" };
const keyOf = ({ home, task, run }: RunName): string => `${home}.${task}.${run}`;
/** In another queue, the same run is another order. */
const placeOf = (order: Order): string => `${order.pool} ${order.priority} ${order.key} ${keyOf(order)}`;

/** Creates an engine whose holds and taken orders stay for `lease` milliseconds without being renewed. */
export const createMemoryEngine = (clock: Clock, lease = 60_000): MemoryEngine => {
  let epoch = clock.now();
  let seq = 0;
  let isAway = false;
  let logs = new Map<string, { seq: number; entry: Entry }[]>();
  let orders: Queued[] = [];
  let holds = new Map<string, { holder: string; seq: number; until: number }>();
  let limits: Readonly<Record<string, number | null>> = {};
  let drained: readonly string[] = [];
  const lost = new Map<string, number>();
  const lostEntries = new Map<Entry["type"], number>();
  const onEntry = new Set<{ home: string; listener: (log: RunName) => void }>();
  const onBell = new Set<{ bell: string; listener: (about: string) => void }>();
  const onReached = new Set<() => void>();
  const onAsked = new Set<Answering>();

  /** Answers a moment later, as an engine does; what is asked takes effect then, if it is reached. */
  const call = async <T>(name: keyof Bus, work: () => T): Promise<T | BusFailure> => {
    await Promise.resolve();
    if (isAway) return AWAY;
    const answer = work();
    const times = lost.get(name) ?? 0;
    if (times === 0) return answer;
    lost.set(name, times - 1);
    return AWAY;
  };
  const placesIn = (log: string) =>
    (logs.get(log) ?? []).map((placed) => ({ at: { epoch, seq: placed.seq }, entry: placed.entry }));
  const next = () => {
    seq += 1;
    return seq;
  };
  const hint = (log: RunName) => {
    for (const { home, listener } of [...onEntry]) if (home === log.home) clock.after(1, () => listener(log));
  };
  const holdOf = (name: string) => {
    const found = holds.get(name);
    return found && found.until > clock.now() ? found : undefined;
  };
  const isIn = ({ order }: Queued, queue: Queue) =>
    order.pool === queue.pool && order.priority === queue.priority && order.key === queue.key;

  const deliveryOf = (queued: Queued): Delivery => {
    const { delivery } = queued;
    // What comes late from an earlier taking changes nothing.
    const isCurrent = () => queued.delivery === delivery && orders.includes(queued);
    const change = async (name: "take", work: () => void): Promise<void> => {
      await call(name, () => isCurrent() && work());
    };
    return {
      order: queued.order,
      renew: () => change("take", () => (queued.from = clock.now() + lease)),
      done: () =>
        change("take", () => {
          orders = orders.filter((other) => other !== queued);
        }),
      putBack: (afterMs) => change("take", () => (queued.from = clock.now() + afterMs)),
    };
  };

  /** The first answer of those who answer for a server. Undefined: all stay silent. What is said goes as text. */
  const firstAnswer = <Asked extends Question>(server: string, question: Asked): Promise<AnswerTo<Asked> | undefined> =>
    new Promise((resolve) => {
      const sent = readQuestion(JSON.stringify(question));
      const asked = sent ? [...onAsked].filter((one) => one.server === server) : [];
      if (!sent || asked.length === 0) return resolve(undefined);
      clock.after(ANSWERED_WITHIN, () => resolve(undefined));
      for (const { answer } of asked) {
        void answer(sent).then((given) => given && !isAway && resolve(readAnswer(JSON.stringify(given), question)));
      }
    });

  /** What all say who are there, as text, until the time is over in which they may. */
  const allPresences = (): Promise<Presence[]> =>
    new Promise((resolve) => {
      const question = { v: 1, type: "present" } as const;
      const presences: Presence[] = [];
      clock.after(PRESENT_WITHIN, () => resolve(presences.slice(0, MOST_PRESENT)));
      for (const { answer } of [...onAsked].filter(({ server }) => server === EVERYBODY)) {
        void answer(question).then((given) => {
          const said = given && !isAway ? readAnswer(JSON.stringify(given), question) : undefined;
          if (said) presences.push(said);
        });
      }
    });

  const connect = (): Bus => {
    const stops = new Set<() => void>();
    const subscribe = <T>(set: Set<T>, one: T) => {
      set.add(one);
      const stop = () => void set.delete(one);
      stops.add(stop);
      return stop;
    };
    return {
      lease,
      append: (log, entry, after) =>
        call("append", () => {
          const toLose = lostEntries.get(entry.type) ?? 0;
          if (toLose > 0) {
            lostEntries.set(entry.type, toLose - 1);
            return AWAY;
          }
          const entries = logs.get(keyOf(log)) ?? [];
          // Whoever listens hears of an entry that was refused, too.
          hint(log);
          if (after !== undefined && (entries.at(-1)?.seq ?? 0) !== after) return { is: "outrun" } as const;
          const at = { epoch, seq: next() };
          logs.set(keyOf(log), [...entries, { seq: at.seq, entry }]);
          return { is: "stored", at } as const;
        }),
      read: (log) => call("read", () => ({ is: "read" as const, entries: placesIn(keyOf(log)) })),
      onEntryAt: (home, listener) => subscribe(onEntry, { home, listener }),
      onEntryIn: (log, listener) =>
        subscribe(onEntry, { home: log.home, listener: (changed) => keyOf(changed) === keyOf(log) && listener() }),
      offer: (order) =>
        call("offer", () => {
          const isThere = orders.some((queued) => placeOf(queued.order) === placeOf(order));
          if (!isThere) orders.push({ order, seq: next(), from: 0, delivery: 0 });
          return { is: "stored" } as const;
        }),
      isOffered: (order) =>
        call("isOffered", () => ({
          is: "read" as const,
          isOffered: orders.some((queued) => placeOf(queued.order) === placeOf(order)),
        })),
      take: (queue) =>
        call("take", () => {
          const found = orders.find((queued) => isIn(queued, queue) && queued.from <= clock.now());
          if (!found) return { is: "taken", delivery: undefined } as const;
          found.from = clock.now() + lease;
          found.delivery += 1;
          return { is: "taken", delivery: deliveryOf(found) } as const;
        }),
      hold: (name, holder, after) =>
        call("hold", () => {
          if ((holdOf(name)?.seq ?? 0) !== after) return { is: "outrun" } as const;
          const taken = { holder, seq: next(), until: clock.now() + lease };
          holds.set(name, taken);
          return { is: "held", seq: taken.seq } as const;
        }),
      holder: (name) =>
        call("holder", () => {
          const found = holdOf(name);
          return { is: "read" as const, hold: found && { holder: found.holder, seq: found.seq } };
        }),
      limits: () => call("limits", () => ({ is: "read" as const, limits, drained })),
      drop: async (name, held) => {
        await call("drop", () => {
          if (holdOf(name)?.seq === held) holds.delete(name);
        });
      },
      ring: (bell, about = "") => {
        if (isAway) return;
        for (const { bell: other, listener } of [...onBell]) if (bell === other) clock.after(1, () => listener(about));
      },
      onBell: (bell, listener) => subscribe(onBell, { bell, listener }),
      ask: async (server, question) => {
        const sent = await call("ask", () => "sent" as const);
        if (sent !== "sent") return sent;
        const answer = await firstAnswer(server, question);
        return answer ? { is: "answered", answer } : { is: "silent" };
      },
      presences: async () => {
        const sent = await call("presences", () => "sent" as const);
        return sent === "sent" ? { is: "read", presences: await allPresences() } : sent;
      },
      onAsked: (server, answer) => subscribe(onAsked, { server, answer }),
      onReached: (listener) => {
        if (!isAway) clock.after(0, listener);
        return subscribe(onReached, listener);
      },
      close: async () => {
        for (const stop of stops) stop();
      },
    };
  };

  const bringBack = () => {
    isAway = false;
    for (const listener of [...onReached]) clock.after(1, listener);
  };
  return {
    connect,
    cutOff: () => {
      isAway = true;
    },
    bringBack,
    wipe: () => {
      epoch = Math.max(clock.now(), epoch + 1);
      seq = 0;
      logs = new Map();
      orders = [];
      holds = new Map();
      bringBack();
    },
    copy: () => {
      const kept = structuredClone({ seq, logs, orders, holds });
      return () => {
        ({ seq, logs, orders, holds } = structuredClone(kept));
        for (const listener of [...onReached]) listener();
      };
    },
    loseAnswer: (name, times = 1) => lost.set(name, times),
    lose: (type, times) => lostEntries.set(type, times),
    orders: () => orders.length,
    queue: () => orders.map(({ order, from }) => ({ order, from })),
    holds: () => [...holds.keys()].filter((name) => holdOf(name) !== undefined),
    holderOf: (name) => holdOf(name)?.holder,
    logs: () => [...logs].map(([name, entries]) => [name, entries.map(({ entry }) => entry)]),
    placesIn,
    drain: (servers) => {
      drained = servers;
    },
    limit: (given) => {
      limits = given;
    },
    loseOrders: () => {
      orders = [];
    },
  };
};
