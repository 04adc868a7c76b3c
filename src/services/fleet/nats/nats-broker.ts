import { JetStreamApiError } from "@nats-io/jetstream";
import { type Msg, type NatsConnection, nanos } from "@nats-io/transport-node";
import type { Clock } from "../../platform/clock.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import {
  ANSWERED_WITHIN,
  type Broker,
  type BrokerFailure,
  type Delivery,
  MOST_PRESENT,
  PRESENT_WITHIN,
  type Queue,
} from "../broker.ts";
import { type AnswerTo, EVERYBODY, type Presence, type Question, readAnswer, readQuestion } from "../questions.ts";
import { Job, readAs, WIRE_VERSION } from "../wire-messages.ts";
import {
  ANSWER_WITHIN,
  type BrokerAddress,
  causeOf,
  keepConnection,
  type Reached,
  reasonOf,
} from "./nats-connection.ts";
import * as names from "./streams.ts";
import { holderIn, publishAfter, readEntries, readLimits } from "./streams.ts";

/** The milliseconds of a lease until the broker has said how many they are. */
const USUAL_LEASE = 60_000;

/** Milliseconds after which a queue that nobody takes from is forgotten; its jobs stay. */
const QUEUE_KEPT = 7 * 86_400_000;

/** Milliseconds after which a request for a job counts as unanswered; the broker answers in less than one (measured). */
const JOB_WITHIN = 250;

/** Milliseconds until a job that cannot be read here is given out again. */
const UNREADABLE_BACK_AFTER = 30_000;

/** True for an error that the same call would cause again. */
const isRefusal = (thrown: unknown): boolean => {
  const error = causeOf(thrown);
  return (
    (error instanceof JetStreamApiError &&
      error.status >= 400 &&
      error.status < 500 &&
      error.name !== "StreamNotFoundError") ||
    (error instanceof Error && ["PermissionViolationError", "InvalidArgumentError"].includes(error.name))
  );
};

/** Connects to a fleet whose broker is NATS with JetStream. Returns at once; until it is reached, all calls are answered `unavailable`. */
export const createNatsBroker = (address: BrokerAddress, name: string, clock: Clock, log: Log): Broker => {
  const connection = keepConnection(address, name, clock, log);
  let leaseMs = USUAL_LEASE;
  connection.onReached(() => {
    const reached = connection.now();
    if (typeof reached !== "string") leaseMs = reached.leaseMs;
  });

  /** Calls the broker, if it is reached. */
  const whenReached = async <T>(work: (reached: Reached) => Promise<T>): Promise<T | BrokerFailure> => {
    const reached = connection.now();
    if (typeof reached === "string") return { is: "unavailable", message: reached };
    try {
      return await work(reached);
    } catch (error) {
      return { is: isRefusal(error) ? "refused" : "unavailable", message: reasonOf(error) };
    }
  };

  /** The queues that were opened, by the name of their consumer, with the broker on which they were. */
  const opened = new Map<string, number>();

  /** Opens a queue, unless it is open. The broker does not answer requests to one that is not. */
  const openQueue = async ({ jsm, epoch }: Reached, queue: Queue) => {
    const consumer = names.consumerOf(queue);
    if (opened.get(consumer) === epoch) return;
    await jsm.consumers.add(names.JOBS, {
      durable_name: consumer,
      filter_subject: names.jobsOf(queue),
      ack_policy: "explicit",
      ack_wait: nanos(leaseMs),
      max_deliver: -1,
      max_ack_pending: -1,
      inactive_threshold: nanos(QUEUE_KEPT),
    });
    opened.set(consumer, epoch);
  };

  /**
   * Asks for the next job of a queue. Undefined where there is none.
   *
   * NATS does not answer where it still counts a job that is gone: one that was too old, or that somebody has deleted
   * (nats-server 2.9.10; see also its issue 7457). A request for the queue's state makes it count anew. A job that it gives to an
   * abandoned request later reaches nobody, and is given out again: each request has an inbox of its own.
   */
  const pull = async (reached: Reached, queue: Queue): Promise<Msg | undefined> => {
    await openQueue(reached, queue);
    const consumer = names.consumerOf(queue);
    const subject = `$JS.API.CONSUMER.MSG.NEXT.${names.JOBS}.${consumer}`;
    const wanted = JSON.stringify({ batch: 1, no_wait: true });
    try {
      // A message that the broker delivers has a subject of its own: it does not come to the inbox that answers share.
      const message = await reached.nc.request(subject, wanted, { timeout: JOB_WITHIN, noMux: true });
      // An answer without a job expects no acknowledgement.
      return message.reply ? message : undefined;
    } catch (error) {
      // Somebody may have deleted the queue, or the broker lost it when it was killed: it is opened again.
      opened.delete(consumer);
      if (!(error instanceof Error) || error.name !== "TimeoutError") throw error;
      await reached.jsm.consumers.info(names.JOBS, consumer);
      return undefined;
    }
  };

  const deliveryOf = ({ epoch }: Reached, reply: string, job: Job): Delivery => {
    const answer = async (text: string) => {
      const asked = await whenReached(async (reached) => {
        // Another job may stand at its place on a broker that was set up anew.
        if (reached.epoch === epoch) await reached.nc.request(reply, text, { timeout: ANSWER_WITHIN });
      });
      // Without an answer the job is given out again after `leaseMs`.
      if (asked) log.info("the fleet did not take an answer to a job", { task: job.task, reason: asked.message });
    };
    return {
      job,
      renew: () => answer("+WPI"),
      done: () => answer("+ACK"),
      requeue: (afterMs) => answer(`-NAK ${JSON.stringify({ delay: nanos(afterMs) })}`),
    };
  };

  const take = async (reached: Reached, queue: Queue) => {
    const message = await pull(reached, queue);
    if (!message?.reply) return { is: "taken", delivery: undefined } as const;
    const job = readAs(Job, message.string());
    if (job) return { is: "taken", delivery: deliveryOf(reached, message.reply, job) } as const;
    log.error("a job of the fleet cannot be read by this version", { subject: message.subject });
    reached.nc.publish(message.reply, `-NAK ${JSON.stringify({ delay: nanos(UNREADABLE_BACK_AFTER) })}`);
    return { is: "taken", delivery: undefined } as const;
  };

  return {
    get leaseMs() {
      return leaseMs;
    },
    append: (log, entry, after) =>
      whenReached(async (reached) => {
        const seq = await publishAfter(reached.js, names.runSubject(log), entry, after);
        return seq === undefined ? { is: "conflict" } : { is: "stored", at: { epoch: reached.epoch, seq } };
      }),
    read: (log) => whenReached(async ({ jsm, epoch }) => ({ is: "read", entries: await readEntries(jsm, epoch, log) })),
    onEntryIn: (log, listener) => connection.subscribe(names.runSubject(log), () => listener()),
    onEntryAt: (origin, listener) =>
      connection.subscribe(names.runsOf(origin), (subject) => {
        const log = names.runOf(subject);
        if (log) listener(log);
      }),
    enqueue: (job) =>
      whenReached(async (reached) => {
        // One that is there already stays.
        await publishAfter(reached.js, names.jobSubject(job), job, 0);
        return { is: "stored" };
      }),
    isQueued: (job) =>
      whenReached(async ({ jsm }) => {
        const found = await jsm.streams.getMessage(names.JOBS, { last_by_subj: names.jobSubject(job) });
        return { is: "read", isQueued: found !== null };
      }),
    take: (queue) => whenReached((reached) => take(reached, queue)),
    acquire: (name, holder, after) =>
      whenReached(async (reached) => {
        const seq = await publishAfter(reached.js, names.leaseSubject(name), { holder }, after);
        return seq === undefined ? { is: "conflict" } : { is: "held", seq };
      }),
    holder: (name) =>
      whenReached(async ({ jsm }) => {
        const found = await jsm.streams.getMessage(names.LEASES, { last_by_subj: names.leaseSubject(name) });
        return { is: "read", lease: found ? { holder: holderIn(found), seq: found.seq } : undefined };
      }),
    limits: () =>
      whenReached(async ({ jsm }) => {
        const found = await readLimits(jsm);
        if (!found) return { is: "unavailable", message: "The limits of the fleet cannot be read by this version." };
        return { is: "read", limits: found.models, drained: found.drained };
      }),
    release: async (_, seq) => {
      await whenReached(({ jsm }) => jsm.streams.deleteMessage(names.LEASES, seq, false));
    },
    notify: (topic, payload = "") => {
      const reached = connection.now();
      if (typeof reached === "string") return;
      try {
        reached.nc.publish(names.topicSubject(topic), payload);
      } catch (error) {
        log.info("a notification could not be sent", { reason: errorMessage(error) });
      }
    },
    onNotified: (topic, listener) => connection.subscribe(names.topicSubject(topic), (_, payload) => listener(payload)),
    ask: (server, question) => whenReached(({ nc }) => askServer(nc, server, question)),
    presences: () =>
      whenReached(async ({ nc }) => {
        const presences = await askPresences(nc, MOST_PRESENT);
        return typeof presences === "string" ? { is: "refused", message: presences } : { is: "read", presences };
      }),
    onAsked: (server, answer) => connection.subscribe(names.askSubject(server), answerWith(answer, log)),
    onReached: connection.onReached,
    close: connection.close,
  };
};

/** Errors of requests to which nobody listens, or that nobody answers in time. */
const SILENCE = ["NoResponders", "TimeoutError"];

const isSilence = (thrown: unknown): boolean => {
  const error = causeOf(thrown);
  return error instanceof Error && SILENCE.includes(error.name);
};

/** Asks a server. The first answer counts. @throws Error with the broker's reason */
const askServer = async <Asked extends Question>(
  nc: NatsConnection,
  server: string,
  question: Asked,
): Promise<{ is: "answered"; answer: AnswerTo<Asked> } | { is: "silent" }> => {
  try {
    const message = await nc.request(names.askSubject(server), JSON.stringify(question), { timeout: ANSWERED_WITHIN });
    const answer = readAnswer(message.string(), question);
    return answer ? { is: "answered", answer } : { is: "silent" };
  } catch (error) {
    if (isSilence(error)) return { is: "silent" };
    throw error;
  }
};

/** Returns a listener that answers questions. What is no question is left unanswered. */
const answerWith =
  (answer: Parameters<Broker["onAsked"]>[1], log: Log) =>
  (_: string, text: string, respond: ((text: string) => void) | undefined): void => {
    const question = readQuestion(text);
    if (!question || !respond) return;
    answer(question)
      .then((given) => given && respond(JSON.stringify(given)))
      .catch((error) =>
        log.error("a question of the fleet could not be answered", {
          question: question.type,
          reason: errorMessage(error),
        }),
      );
  };

/**
 * Asks which workers are present. Returns a string, the reason, where they may not be asked.
 * @param most how many answers are read. Default: all
 * @throws Error with the broker's reason
 */
export const askPresences = async (
  nc: NatsConnection,
  most = Number.POSITIVE_INFINITY,
): Promise<Presence[] | string> => {
  const question = { v: WIRE_VERSION, type: "present" } as const;
  const presences: Presence[] = [];
  let received = 0;
  try {
    const asked = { strategy: "timer", maxWait: PRESENT_WITHIN } as const;
    for await (const message of await nc.requestMany(names.askSubject(EVERYBODY), JSON.stringify(question), asked)) {
      const answer = readAnswer(message.string(), question);
      if (answer) presences.push(answer);
      received += 1;
      if (received >= most) break;
    }
  } catch (thrown) {
    if (isSilence(thrown)) return presences;
    const error = causeOf(thrown);
    if (error instanceof Error && error.name === "PermissionViolationError") return error.message;
    throw thrown;
  }
  return presences;
};
