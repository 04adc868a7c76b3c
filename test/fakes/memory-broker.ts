import {
  ANSWERED_WITHIN,
  type Broker,
  type BrokerFailure,
  type Delivery,
  MOST_PRESENT,
  PRESENT_WITHIN,
  type Queue,
} from "../../src/services/fleet/broker.ts";
import {
  type AnswerTo,
  EVERYBODY,
  type Presence,
  type Question,
  readAnswer,
  readQuestion,
} from "../../src/services/fleet/questions.ts";
import type { Entry, Job, RunName } from "../../src/services/fleet/wire-messages.ts";
import type { Clock } from "../../src/services/platform/clock.ts";

/** The broker of a fleet, in memory. */
export type MemoryBroker = ReturnType<typeof createMemoryBroker>;

interface Queued {
  job: Job;
  seq: number;
  /** Nobody gets it before, epoch milliseconds. */
  from: number;
  delivery: number;
}

/** Somebody who answers for a server. */
interface Answering {
  server: string;
  answer: Parameters<Broker["onAsked"]>[1];
}

const AWAY: BrokerFailure = { is: "unavailable", message: "no broker" };
const keyOf = ({ origin, task, run }: RunName): string => `${origin}.${task}.${run}`;
/** In another queue, the same run is another job. */
const placeOf = (job: Job): string => `${job.pool} ${job.priority} ${job.key} ${keyOf(job)}`;

/** Creates a broker whose leases and taken jobs stay for `leaseMs` milliseconds without being renewed. */
export const createMemoryBroker = (clock: Clock, leaseMs = 60_000) => {
  let epoch = clock.now();
  let seq = 0;
  let isAway = false;
  let logs = new Map<string, { seq: number; entry: Entry }[]>();
  let jobs: Queued[] = [];
  let leases = new Map<string, { holder: string; seq: number; until: number }>();
  let limits: Readonly<Record<string, number | null>> = {};
  let drained: readonly string[] = [];
  const lost = new Map<string, number>();
  const lostEntries = new Map<Entry["type"], number>();
  const onEntry = new Set<{ origin: string; listener: (log: RunName) => void }>();
  const onNotified = new Set<{ topic: string; listener: (about: string) => void }>();
  const onReached = new Set<() => void>();
  const onAsked = new Set<Answering>();

  /** Answers a moment later, as a broker does; the call takes effect then, if the broker is reachable. */
  const call = async <T>(name: keyof Broker, work: () => T): Promise<T | BrokerFailure> => {
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
    for (const { origin, listener } of [...onEntry]) if (origin === log.origin) clock.after(1, () => listener(log));
  };
  const leaseOf = (name: string) => {
    const found = leases.get(name);
    return found && found.until > clock.now() ? found : undefined;
  };
  const isIn = ({ job }: Queued, queue: Queue) =>
    job.pool === queue.pool && job.priority === queue.priority && job.key === queue.key;

  const deliveryOf = (queued: Queued): Delivery => {
    const { delivery } = queued;
    // What comes late from an earlier taking changes nothing.
    const isCurrent = () => queued.delivery === delivery && jobs.includes(queued);
    const change = async (name: "take", work: () => void): Promise<void> => {
      await call(name, () => isCurrent() && work());
    };
    return {
      job: queued.job,
      renew: () => change("take", () => (queued.from = clock.now() + leaseMs)),
      done: () =>
        change("take", () => {
          jobs = jobs.filter((other) => other !== queued);
        }),
      requeue: (afterMs) => change("take", () => (queued.from = clock.now() + afterMs)),
    };
  };

  /** The first answer of those who answer for a server, sent as text. Undefined: all stay silent. */
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

  /** The answers of all that are present, as text, within the time that they have. */
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

  const connect = (): Broker => {
    const stops = new Set<() => void>();
    const subscribe = <T>(set: Set<T>, one: T) => {
      set.add(one);
      const stop = () => void set.delete(one);
      stops.add(stop);
      return stop;
    };
    return {
      leaseMs,
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
          if (after !== undefined && (entries.at(-1)?.seq ?? 0) !== after) return { is: "conflict" } as const;
          const at = { epoch, seq: next() };
          logs.set(keyOf(log), [...entries, { seq: at.seq, entry }]);
          return { is: "stored", at } as const;
        }),
      read: (log) => call("read", () => ({ is: "read" as const, entries: placesIn(keyOf(log)) })),
      onEntryAt: (origin, listener) => subscribe(onEntry, { origin, listener }),
      onEntryIn: (log, listener) =>
        subscribe(onEntry, { origin: log.origin, listener: (changed) => keyOf(changed) === keyOf(log) && listener() }),
      enqueue: (job) =>
        call("enqueue", () => {
          const isThere = jobs.some((queued) => placeOf(queued.job) === placeOf(job));
          if (!isThere) jobs.push({ job, seq: next(), from: 0, delivery: 0 });
          return { is: "stored" } as const;
        }),
      isQueued: (job) =>
        call("isQueued", () => ({
          is: "read" as const,
          isQueued: jobs.some((queued) => placeOf(queued.job) === placeOf(job)),
        })),
      take: (queue) =>
        call("take", () => {
          const found = jobs.find((queued) => isIn(queued, queue) && queued.from <= clock.now());
          if (!found) return { is: "taken", delivery: undefined } as const;
          found.from = clock.now() + leaseMs;
          found.delivery += 1;
          return { is: "taken", delivery: deliveryOf(found) } as const;
        }),
      acquire: (name, holder, after) =>
        call("acquire", () => {
          if ((leaseOf(name)?.seq ?? 0) !== after) return { is: "conflict" } as const;
          const taken = { holder, seq: next(), until: clock.now() + leaseMs };
          leases.set(name, taken);
          return { is: "held", seq: taken.seq } as const;
        }),
      holder: (name) =>
        call("holder", () => {
          const found = leaseOf(name);
          return { is: "read" as const, lease: found && { holder: found.holder, seq: found.seq } };
        }),
      limits: () => call("limits", () => ({ is: "read" as const, limits, drained })),
      release: async (name, held) => {
        await call("release", () => {
          if (leaseOf(name)?.seq === held) leases.delete(name);
        });
      },
      notify: (topic, about = "") => {
        if (isAway) return;
        for (const { topic: other, listener } of [...onNotified])
          if (topic === other) clock.after(1, () => listener(about));
      },
      onNotified: (topic, listener) => subscribe(onNotified, { topic, listener }),
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
    /** Makes it unreachable. What it has stays. */
    cutOff: (): void => {
      isAway = true;
    },
    /** Makes it reachable again. */
    bringBack,
    /** Sets it up anew, with nothing left of what it had. */
    wipe: (): void => {
      epoch = Math.max(clock.now(), epoch + 1);
      seq = 0;
      logs = new Map();
      jobs = [];
      leases = new Map();
      bringBack();
    },
    /** Copies all that it has. Returns how to set it back to that: it gives the places of what came since a second time. */
    copy: (): (() => void) => {
      const kept = structuredClone({ seq, logs, jobs, leases });
      return () => {
        ({ seq, logs, jobs, leases } = structuredClone(kept));
        for (const listener of [...onReached]) listener();
      };
    },
    /** Loses the answers of the next calls of that name, which take effect all the same. */
    loseAnswer: (name: keyof Broker, times = 1): void => void lost.set(name, times),
    /** Loses the next entries of that type on their way: they are in no log, and whoever wrote them is told nothing. */
    lose: (type: Entry["type"], times: number): void => void lostEntries.set(type, times),
    /** How many jobs are queued or taken. */
    jobs: (): number => jobs.length,
    /** The jobs that are queued or taken, and when each can be taken next, epoch milliseconds. */
    queue: () => jobs.map(({ job, from }) => ({ job, from })),
    /** The names of the leases that somebody has. */
    leases: (): string[] => [...leases.keys()].filter((name) => leaseOf(name) !== undefined),
    /** Who has a lease; undefined where nobody has. */
    holderOf: (name: string): string | undefined => leaseOf(name)?.holder,
    /** What stands in the log of each run, by the names of runs. */
    logs: () => [...logs].map(([name, entries]) => [name, entries.map(({ entry }) => entry)] as const),
    /** What stands in the log of a run, with its places. */
    placesIn,
    /** Sets which servers take no more jobs. */
    drain: (servers: readonly string[]): void => {
      drained = servers;
    },
    /** Sets how many tasks of a model may run at once, by `provider/model`. */
    limit: (given: Readonly<Record<string, number | null>>): void => {
      limits = given;
    },
    /** Loses all jobs, and nothing else. */
    loseJobs: (): void => {
      jobs = [];
    },
  };
};
