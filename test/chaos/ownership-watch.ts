import type { Prompt } from "../../src/machines/task/events.ts";
import { STEADY_MS } from "../../src/services/store/ownership.ts";
import type { Store } from "../../src/services/store/store.ts";
import type { Clocks } from "./clocks.ts";
import type { FileSituation } from "./file-situations.ts";
import type { Storage, StoredOwner } from "./storage.ts";

/** Watches processes that share a store: only the one that supervises a task writes it, and sends for it. */
export interface OwnershipWatch {
  /** Wraps the store of the owner that was booted last. */
  watch(store: Store): Store;
  /** Looks at a prompt that the process with this owner sends. */
  prompted(owner: string, prompt: Prompt): void;
  /** Who supervises the task, as it is stored; undefined where nobody does. */
  supervisorOf(taskId: string): string | undefined;
  /**
   * Reports tasks that are left to a process that is stopped or dead. `awakeSince`: since when some process has been awake,
   * epoch milliseconds.
   */
  checkNoneAbandoned(awakeSince: number): void;
}

/** Milliseconds for which nobody takes the tasks of a living process that gives no sign of life (README: 15 s). */
const LEASE = 15_000;

/** Milliseconds between two heartbeats. */
const HEARTBEAT = 3_000;

/** Milliseconds within which they are taken after that: two heartbeats until one judges others, and one to the next look. */
const TAKEN_WITHIN = 12_000;

/** `now` returns the true time, and the clocks are those of the processes; `note` is given what has occurred. */
export const createOwnershipWatch = (
  storage: Storage,
  now: () => number,
  clocks: Clocks,
  fault: (words: string) => void,
  note: (situation: FileSituation) => void,
): OwnershipWatch => {
  /** When an owner was first seen to be dead. */
  const deaths = new Map<string, number>();
  const areElsewhere = clocks.machineOf(0) !== clocks.machineOf(1);

  /** When the last heartbeat of each owner was in truth. */
  const beats = new Map<string, number>();
  /** One that has closed the store has taken its row away, and its tasks are free. */
  const hasRow = ({ heartbeatAt }: StoredOwner): boolean => heartbeatAt > 0;
  const beatAt = (owner: StoredOwner): number =>
    (hasRow(owner) ? beats.get(owner.id) : undefined) ?? Number.NEGATIVE_INFINITY;

  /** True for an owner that was silent for a lease; be it by the clock that it shares with who looks, and that was set meanwhile. */
  const isFree = (owner: StoredOwner, at: number): boolean => {
    const silent = now() - beatAt(owner);
    // A clock that is set by less than shows as a gap between two heartbeats counts as time that passed.
    const unnoticed = clocks.setAt() > beatAt(owner) ? STEADY_MS - HEARTBEAT : 0;
    return silent > LEASE - unnoticed || (!areElsewhere && silent > 2 * HEARTBEAT && at - owner.heartbeatAt > LEASE);
  };

  const freeSince = (owner: StoredOwner): number => {
    const { id } = owner;
    // Where its process cannot be looked at, the lease alone says whether it lives; it is looked at with each heartbeat.
    // Whoever's clock is set judges nobody by what it noted before that.
    const heardAt = Math.max(beatAt(owner), clocks.setAt());
    if (areElsewhere && hasRow(owner)) return heardAt + HEARTBEAT + LEASE;
    if (storage.isAlive(id)) return heardAt + LEASE;
    const at = deaths.get(id) ?? now();
    deaths.set(id, at);
    return at;
  };

  return {
    watch: (store) => {
      const me = storage.newestOwner();
      beats.set(me, now());
      return {
        ...store,
        heartbeat: (at) => {
          const lost = store.heartbeat(at);
          beats.set(me, now());
          return lost;
        },
        commit: (change) => {
          const before = storage.supervisors();
          const lost = store.commit(change);
          for (const { task } of change.records) {
            const owner = before.get(task.sessionID)?.id ?? me;
            if (owner !== me && !lost.includes(task.sessionID)) {
              fault(`${me} wrote ${task.sessionID}, which ${owner} supervises`);
            }
          }
          return lost;
        },
        adopt: (at, wants) => {
          const before = storage.supervisors();
          const work = store.adopt(at, wants);
          for (const { task } of work.tasks) {
            const owner = before.get(task.sessionID);
            if (owner && Math.abs(at - owner.heartbeatAt) > LEASE && now() - beatAt(owner) <= 2 * LEASE) {
              const way = owner.heartbeatAt > at ? "ahead" : "behind";
              note(`a process takes over from one whose clock is ${way} by more than a lease`);
            }
            if (!owner || !storage.isAlive(owner.id) || isFree(owner, at)) continue;
            fault(`${me} took ${task.sessionID} from ${owner.id}, which lives and whose lease holds`);
          }
          return work;
        },
      };
    },
    prompted: (owner, { sessionID, messageID, noReply }) => {
      // A note for a person: which of them are told of a request is no matter of the store.
      if (noReply || storage.trouble?.isUnderWay()) return;
      const owners = [...storage.ownersOfPrompt(messageID), storage.supervisors().get(sessionID)?.id];
      if (!owners.includes(owner)) fault(`${owner} sends ${messageID} to ${sessionID}, which is not its to send`);
    },
    supervisorOf: (taskId) => storage.supervisors().get(taskId)?.id,
    checkNoneAbandoned: (awakeSince) => {
      if (storage.trouble?.isUnderWay()) return;
      for (const [taskId, owner] of storage.supervisors()) {
        // Whoever begins to look hears of a process of another machine for a lease before it judges it.
        const looks = areElsewhere ? awakeSince + HEARTBEAT + LEASE : awakeSince;
        const since = Math.max(looks, freeSince(owner), storage.trouble?.overAt() ?? 0);
        if (now() - since > TAKEN_WITHIN) fault(`${taskId} is left to ${owner.id}, which gives no sign of life`);
      }
    },
  };
};
