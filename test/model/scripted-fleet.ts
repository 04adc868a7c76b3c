import type { TaskEvent } from "../../src/machines/task/events.ts";
import type { Broker } from "../../src/services/fleet/broker.ts";
import type { Membership } from "../../src/services/fleet/member.ts";
import { type Job, type RunName, runLease, WIRE_VERSION } from "../../src/services/fleet/wire-messages.ts";
import type { Claim, FleetOffer, FleetServer } from "../../src/task.ts";
import { createMemoryBroker } from "../fakes/memory-broker.ts";
import type { VirtualClock } from "../fakes/virtual-clock.ts";
import type { Gates } from "./gates.ts";

const ORIGIN = "srv_origin";
const SERVER: FleetServer = { id: "srv_1", label: "one" };

/** So long that nothing is looked at by itself. */
const LEASE = 1_000_000_000;

/**
 * A fleet in which nothing happens by itself: jobs stand at the gate `job`, and what closes a run at the gate `close`,
 * until the test opens it. What other servers do, the test does.
 */
export interface ScriptedFleet {
  membership(): Omit<Membership, "clock" | "log" | "newId">;
  /** A server takes the run; or goes on with it, though the broker has lost its claim. */
  claim(taskId: string, replaces?: Claim): Promise<void>;
  /** The server that took it last has it in hand again. */
  goOn(taskId: string, look: () => Promise<void>): Promise<void>;
  /** The server that took it last says how it ended. */
  end(
    taskId: string,
    end: Pick<Extract<TaskEvent, { type: "REMOTE_ENDED" }>, "outcome" | "result" | "receipt">,
  ): Promise<void>;
  /** Another process of the origin has closed the run. */
  close(taskId: string): Promise<void>;
  /** The broker has lost the job, and the origin looks for it, a lease later. */
  lose(look: () => Promise<void>): Promise<void>;
}

export const createScriptedFleet = (clock: VirtualClock, gates: Gates, offer: FleetOffer): ScriptedFleet => {
  const broker = createMemoryBroker(clock, LEASE);
  const other = broker.connect();
  /** The newest run that was enqueued. */
  let run = 0;
  const nameOf = (task: string): RunName => ({ origin: ORIGIN, task, run });
  let nonces = 0;
  other.onAsked(SERVER.id, async () => ({ v: WIRE_VERSION, type: "mayResume" }));

  /** Appends an entry behind the last one. */
  const append = async (name: RunName, entry: Parameters<Broker["append"]>[1]) => {
    const appended = await other.append(name, entry, undefined);
    if (appended.is !== "stored") throw new Error(`the entry was not stored: ${appended.is}`);
    await clock.advance(1);
  };
  const message = () => {
    nonces += 1;
    return { v: WIRE_VERSION, at: clock.now(), nonce: `nonce_${nonces}` } as const;
  };

  let leaseMs = LEASE;
  const gated = (broker: Broker): Broker => ({
    ...broker,
    get leaseMs() {
      return leaseMs;
    },
    enqueue: async (job: Job) => {
      run = job.run;
      const answer: Awaited<ReturnType<Broker["enqueue"]>> = await gates.wait("job");
      return answer.is === "stored" ? broker.enqueue(job) : answer;
    },
    append: async (name, entry, after) => {
      if (entry.type === "ended") await gates.wait("close");
      return broker.append(name, entry, after);
    },
  });

  return {
    membership: () => ({
      ...{ broker: gated(broker.connect()), server: { id: ORIGIN, label: "origin" }, project: "project", work: 0 },
      ...{ offer: ["general"], pool: offer.pool, attempts: offer.attempts, patience: offer.patience, version: "0.1.0" },
      commits: {
        published: async () => ({ ok: true, value: offer.commit }),
        obstacle: async () => undefined,
      },
    }),
    claim: (taskId, replaces) =>
      append(nameOf(taskId), { ...message(), type: "claimed", server: SERVER, ...(replaces ? { replaces } : {}) }),
    goOn: async (taskId, look) => {
      const lease = runLease(nameOf(taskId));
      const held = await other.acquire(lease, SERVER.id, 0);
      if (held.is !== "held") throw new Error(`the lease was not taken: ${held.is}`);
      broker.bringBack();
      await clock.advance(2);
      await look();
      await other.release(lease, held.seq);
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
      broker.loseJobs();
      broker.bringBack();
      // Between the moment at which the origin hears that the broker is reached, and its look.
      clock.after(1, () => {
        leaseMs = 0;
      });
      await clock.advance(1);
      await look();
      leaseMs = LEASE;
    },
  };
};
