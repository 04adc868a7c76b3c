// ADR-253 in docs/decisions.md
import { JetStreamApiError } from "@nats-io/jetstream";
import { type Msg, nanos } from "@nats-io/transport-node";
import type { Clock } from "../../platform/clock.ts";
import { errorMessage, type Log } from "../../platform/log.ts";
import { type Bus, type BusFailure, type Delivery, MOST_PRESENT, type Queue } from "../bus.ts";
import { Order } from "../messages.ts";
import { answerWith, askServer } from "./asking.ts";
import { causeOf } from "./cause.ts";
import { ANSWER_WITHIN, type EngineAddress, keepConnection, type Reached, reasonOf } from "./connection.ts";
import { readLimits } from "./limits.ts";
import * as names from "./names.ts";
import { askPresences } from "./presences.ts";
import { holderIn, json, publishAfter, readEntries } from "./stored.ts";

/** The lease of a fleet, in milliseconds, as long as the engine has not been asked. */
const USUAL_LEASE = 60_000;

/** Milliseconds after which a queue that nobody takes from is forgotten; its orders stay. */
const QUEUE_KEPT = 7 * 86_400_000;

/** Milliseconds for which an answer to a request for an order is waited for; the engine answers in less than one (measured). */
const ORDER_WITHIN = 250;

/** Milliseconds until an order that cannot be read here is offered again. */
const UNREADABLE_BACK_AFTER = 30_000;

/** Refused by the engine as it is: the same again would be refused again. */
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

/** Connects to a fleet whose engine is NATS with JetStream. Returns at once; until it is reached, all calls are answered `unavailable`. */
export const createNatsBus = (address: EngineAddress, name: string, clock: Clock, log: Log): Bus => {
  const connection = keepConnection(address, name, clock, log);
  let lease = USUAL_LEASE;
  connection.onReached(() => {
    const engine = connection.now();
    if (typeof engine !== "string") lease = engine.lease;
  });

  /** Does something with the engine, if it is reached. */
  const onEngine = async <T>(work: (engine: Reached) => Promise<T>): Promise<T | BusFailure> => {
    const engine = connection.now();
    if (typeof engine === "string") return { is: "unavailable", message: engine };
    try {
      return await work(engine);
    } catch (error) {
      return { is: isRefusal(error) ? "refused" : "unavailable", message: reasonOf(error) };
    }
  };

  /** The queues that were opened, by the name of their consumer, with the engine on which they were. */
  const opened = new Map<string, number>();

  /** Opens a queue, which stays as it is where it is open. The engine does not answer who takes from one that is not. */
  const openQueue = async ({ jsm, epoch }: Reached, queue: Queue) => {
    const consumer = names.consumerOf(queue);
    if (opened.get(consumer) === epoch) return;
    await jsm.consumers.add(names.ORDERS, {
      durable_name: consumer,
      filter_subject: names.ordersOf(queue),
      ack_policy: "explicit",
      ack_wait: nanos(lease),
      max_deliver: -1,
      max_ack_pending: -1,
      inactive_threshold: nanos(QUEUE_KEPT),
    });
    opened.set(consumer, epoch);
  };

  /**
   * Asks for the next order of a queue. Undefined where there is none.
   *
   * The engine does not answer where it believes that there is an order which is none any more: one that was too old, or that
   * somebody has deleted (nats-server 2.9.10; see also its issue 7457). Asking it for the queue's state has it count anew. An
   * order that it gives to such a request later is given to nobody, and so to the next one: each has an address of its own.
   */
  const pull = async (engine: Reached, queue: Queue): Promise<Msg | undefined> => {
    await openQueue(engine, queue);
    const consumer = names.consumerOf(queue);
    const subject = `$JS.API.CONSUMER.MSG.NEXT.${names.ORDERS}.${consumer}`;
    const wanted = JSON.stringify({ batch: 1, no_wait: true });
    try {
      // A message that the engine delivers has a subject of its own: it does not come to the inbox that answers share.
      const message = await engine.nc.request(subject, wanted, { timeout: ORDER_WITHIN, noMux: true });
      // An answer without an order has nobody who waits to hear of it.
      return message.reply ? message : undefined;
    } catch (error) {
      if (!(error instanceof Error) || error.name !== "TimeoutError") throw error;
      opened.delete(consumer);
      await engine.jsm.consumers.info(names.ORDERS, consumer);
      return undefined;
    }
  };

  const deliveryOf = ({ epoch }: Reached, reply: string, order: Order): Delivery => {
    const answer = async (text: string) => {
      const asked = await onEngine(async (engine) => {
        // Another order may stand at its place on an engine that was set up anew.
        if (engine.epoch === epoch) await engine.nc.request(reply, text, { timeout: ANSWER_WITHIN });
      });
      // What is not heard of is offered again after the lease.
      if (asked) log.info("the fleet did not take an answer to an order", { task: order.task, reason: asked.message });
    };
    return {
      order,
      renew: () => answer("+WPI"),
      done: () => answer("+ACK"),
      putBack: (afterMs) => answer(`-NAK ${JSON.stringify({ delay: nanos(afterMs) })}`),
    };
  };

  const take = async (engine: Reached, queue: Queue) => {
    const message = await pull(engine, queue);
    if (!message?.reply) return { is: "taken", delivery: undefined } as const;
    const order = Order.safeParse(json(message.data)).data;
    if (order) return { is: "taken", delivery: deliveryOf(engine, message.reply, order) } as const;
    log.error("an order of the fleet cannot be read by this version", { subject: message.subject });
    engine.nc.publish(message.reply, `-NAK ${JSON.stringify({ delay: nanos(UNREADABLE_BACK_AFTER) })}`);
    return { is: "taken", delivery: undefined } as const;
  };

  return {
    get lease() {
      return lease;
    },
    append: (log, entry, after) =>
      onEngine(async (engine) => {
        const seq = await publishAfter(engine.js, names.runSubject(log), entry, after);
        return seq === undefined ? { is: "outrun" } : { is: "stored", at: { epoch: engine.epoch, seq } };
      }),
    read: (log) => onEngine(async ({ jsm, epoch }) => ({ is: "read", entries: await readEntries(jsm, epoch, log) })),
    onEntryIn: (log, listener) => connection.subscribe(names.runSubject(log), () => listener()),
    onEntryAt: (home, listener) =>
      connection.subscribe(names.runsOf(home), (subject) => {
        const log = names.runOf(subject);
        if (log) listener(log);
      }),
    offer: (order) =>
      onEngine(async (engine) => {
        // One that is there already stays.
        await publishAfter(engine.js, names.orderSubject(order), order, 0);
        return { is: "stored" };
      }),
    isOffered: (order) =>
      onEngine(async ({ jsm }) => {
        const found = await jsm.streams.getMessage(names.ORDERS, { last_by_subj: names.orderSubject(order) });
        return { is: "read", isOffered: found !== null };
      }),
    take: (queue) => onEngine((engine) => take(engine, queue)),
    hold: (name, holder, after) =>
      onEngine(async (engine) => {
        const seq = await publishAfter(engine.js, names.holdSubject(name), { holder }, after);
        return seq === undefined ? { is: "outrun" } : { is: "held", seq };
      }),
    holder: (name) =>
      onEngine(async ({ jsm }) => {
        const found = await jsm.streams.getMessage(names.HOLDS, { last_by_subj: names.holdSubject(name) });
        return { is: "read", hold: found ? { holder: holderIn(found), seq: found.seq } : undefined };
      }),
    limits: () =>
      onEngine(async ({ jsm }) => {
        const found = await readLimits(jsm);
        if (!found) return { is: "unavailable", message: "The limits of the fleet cannot be read by this version." };
        return { is: "read", limits: found.models, drained: found.drained };
      }),
    drop: async (_, seq) => {
      await onEngine(({ jsm }) => jsm.streams.deleteMessage(names.HOLDS, seq, false));
    },
    ring: (bell, about = "") => {
      const engine = connection.now();
      if (typeof engine === "string") return;
      try {
        engine.nc.publish(names.bellSubject(bell), about);
      } catch (error) {
        log.info("a bell of the fleet could not be rung", { reason: errorMessage(error) });
      }
    },
    onBell: (bell, listener) => connection.subscribe(names.bellSubject(bell), (_, about) => listener(about)),
    ask: (server, question) => onEngine(({ nc }) => askServer(nc, server, question)),
    presences: () =>
      onEngine(async ({ nc }) => {
        const presences = await askPresences(nc, MOST_PRESENT);
        return typeof presences === "string" ? { is: "refused", message: presences } : { is: "read", presences };
      }),
    onAsked: (server, answer) => connection.subscribe(names.askSubject(server), answerWith(answer, log)),
    onReached: connection.onReached,
    close: connection.close,
  };
};
