import type { Prompt } from "../../src/machines/task/events.ts";
import type { Store } from "../../src/services/store/store.ts";
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

/** Milliseconds within which they are taken after that: two heartbeats until one judges others, and one to the next look. */
const TAKEN_WITHIN = 12_000;

export const createOwnershipWatch = (
  storage: Storage,
  now: () => number,
  fault: (words: string) => void,
): OwnershipWatch => {
  /** When an owner was first seen to be dead. */
  const deaths = new Map<string, number>();

  const freeSince = ({ id, heartbeatAt }: StoredOwner): number => {
    if (storage.isAlive(id)) return heartbeatAt + LEASE;
    const at = deaths.get(id) ?? now();
    deaths.set(id, at);
    return at;
  };

  return {
    watch: (store) => {
      const me = storage.newestOwner();
      return {
        ...store,
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
            if (!owner || !storage.isAlive(owner.id) || at - owner.heartbeatAt > LEASE) continue;
            fault(`${me} took ${task.sessionID} from ${owner.id}, which lives and whose lease holds`);
          }
          return work;
        },
      };
    },
    prompted: (owner, { sessionID, messageID, noReply }) => {
      // A note for a person: which of them are told of a request is no matter of the store.
      if (noReply) return;
      const owners = [...storage.ownersOfPrompt(messageID), storage.supervisors().get(sessionID)?.id];
      if (!owners.includes(owner)) fault(`${owner} sends ${messageID} to ${sessionID}, which is not its to send`);
    },
    supervisorOf: (taskId) => storage.supervisors().get(taskId)?.id,
    checkNoneAbandoned: (awakeSince) => {
      for (const [taskId, owner] of storage.supervisors()) {
        const since = Math.max(awakeSince, freeSince(owner));
        if (now() - since > TAKEN_WITHIN) fault(`${taskId} is left to ${owner.id}, which gives no sign of life`);
      }
    },
  };
};
