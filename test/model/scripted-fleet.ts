import type { TaskEvent } from "../../src/machines/task/events.ts";
import type { Bus } from "../../src/services/fleet/bus.ts";
import type { FleetMembership } from "../../src/services/fleet/fleet.ts";
import { type Order, type RunName, runHold, VERSION } from "../../src/services/fleet/messages.ts";
import type { Claim, FleetOffer, FleetServer } from "../../src/task.ts";
import { createMemoryEngine } from "../fakes/memory-bus.ts";
import type { VirtualClock } from "../fakes/virtual-clock.ts";
import type { Gates } from "./gates.ts";

const HOME = "srv_home";
const SERVER: FleetServer = { id: "srv_1", label: "one" };

/** So long that nothing is looked at by itself. */
const LEASE = 1_000_000_000;

/**
 * A fleet in which nothing happens by itself: orders stand at the gate `order`, and what closes a run at the gate `close`,
 * until the test opens it. What other servers do, the test does.
 */
export interface ScriptedFleet {
  membership(): Omit<FleetMembership, "clock" | "log">;
  /** A server takes the run; or goes on with it, though the engine has lost its claim. */
  claim(taskId: string, replaces?: Claim): Promise<void>;
  /** The server that took it last has it in hand again. */
  goOn(taskId: string, look: () => Promise<void>): Promise<void>;
  /** The server that took it last says how it ended. */
  end(
    taskId: string,
    end: Pick<Extract<TaskEvent, { type: "REMOTE_ENDED" }>, "outcome" | "result" | "receipt">,
  ): Promise<void>;
  /** Another process of the home has closed the run. */
  close(taskId: string): Promise<void>;
  /** The engine has lost the order, and the home looks for it, a lease later. */
  lose(look: () => Promise<void>): Promise<void>;
}

export const createScriptedFleet = (clock: VirtualClock, gates: Gates, offer: FleetOffer): ScriptedFleet => {
  const engine = createMemoryEngine(clock, LEASE);
  const other = engine.connect();
  /** The newest run that was ordered. */
  let run = 0;
  const nameOf = (task: string): RunName => ({ home: HOME, task, run });
  let nonces = 0;
  other.onAsked(SERVER.id, async () => ({ v: VERSION, type: "mayResume" }));

  /** Appends an entry behind the last one. */
  const append = async (name: RunName, entry: Parameters<Bus["append"]>[1]) => {
    const appended = await other.append(name, entry, undefined);
    if (appended.is !== "stored") throw new Error(`the entry was not stored: ${appended.is}`);
    await clock.advance(1);
  };
  const message = () => {
    nonces += 1;
    return { v: VERSION, at: clock.now(), nonce: `nonce_${nonces}` } as const;
  };

  let lease = LEASE;
  const gated = (bus: Bus): Bus => ({
    ...bus,
    get lease() {
      return lease;
    },
    offer: async (order: Order) => {
      run = order.run;
      const answer: Awaited<ReturnType<Bus["offer"]>> = await gates.wait("order");
      return answer.is === "stored" ? bus.offer(order) : answer;
    },
    append: async (name, entry, after) => {
      if (entry.type === "ended") await gates.wait("close");
      return bus.append(name, entry, after);
    },
  });

  return {
    membership: () => ({
      ...{ bus: gated(engine.connect()), server: { id: HOME, label: "home" }, project: "project", work: 0 },
      ...{ offer: ["general"], pool: offer.pool, attempts: offer.attempts, patience: offer.patience, version: "0.1.0" },
      commits: {
        published: async () => ({ ok: true, value: offer.commit }),
        obstacle: async () => undefined,
      },
    }),
    claim: (taskId, replaces) =>
      append(nameOf(taskId), { ...message(), type: "claimed", server: SERVER, ...(replaces ? { replaces } : {}) }),
    goOn: async (taskId, look) => {
      const hold = runHold(nameOf(taskId));
      const held = await other.hold(hold, SERVER.id, 0);
      if (held.is !== "held") throw new Error(`the hold was not taken: ${held.is}`);
      engine.bringBack();
      await clock.advance(2);
      await look();
      await other.drop(hold, held.seq);
    },
    end: async (taskId, { outcome, result, receipt }) => {
      const read = await other.read(nameOf(taskId));
      const claims = read.is === "read" ? read.entries.filter(({ entry }) => entry?.type === "claimed") : [];
      const claim: Claim | undefined = claims.at(-1)?.at;
      const error = { name: "APIError", kind: "provider", message: "the model's provider says no" } as const;
      await append(nameOf(taskId), {
        ...message(),
        type: "ended",
        ...{ outcome, completedAt: clock.now(), ...(claim ? { claim } : {}) },
        ...(result === undefined ? {} : { result }),
        ...(outcome === "error" ? { error } : {}),
        ...(receipt ? { receipt } : {}),
      });
    },
    close: (taskId) =>
      append(nameOf(taskId), { ...message(), type: "ended", outcome: "cancelled", completedAt: clock.now() }),
    lose: async (look) => {
      engine.loseOrders();
      engine.bringBack();
      // Between the moment at which the home hears that the engine is reached, and its look.
      clock.after(1, () => {
        lease = 0;
      });
      await clock.advance(1);
      await look();
      lease = LEASE;
    },
  };
};
