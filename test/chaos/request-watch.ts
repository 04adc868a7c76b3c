import type { HostEvent } from "../../src/machines/host-events.ts";
import type { Task } from "../../src/task.ts";
import type { Stage } from "../fakes/stage.ts";

/** Watches that no request of a task stays open for longer than the option `attention.timeout` allows. */
export interface RequestWatch {
  /** Records that the process hears an event. */
  heard(event: HostEvent): void;
  /** A process that begins knows of no request. */
  began(): void;
  /** Looks at the stored tasks. */
  look(stored: readonly Task[]): void;
}

/** Milliseconds within which a request that is too old has been rejected. */
const REJECTED_WITHIN = 1_000;

interface WatchedParts {
  stage: Stage;
  /** Milliseconds; undefined: people may take any time. */
  timeout: number | undefined;
  /** The names of the host's calls that a fault was applied to. */
  struck: ReadonlySet<string>;
  fault(words: string): void;
}

/** Creates a watch without any request. */
export const createRequestWatch = ({ stage, timeout, struck, fault }: WatchedParts): RequestWatch => {
  const askedAt = new Map<string, number>();
  return {
    heard: (event) => {
      if (event.type === "asked" && !askedAt.has(event.request.id)) askedAt.set(event.request.id, stage.clock.now());
    },
    began: () => askedAt.clear(),
    look: (stored) => {
      if (timeout === undefined || struck.has("rejectUserRequest")) return;
      for (const { sessionID } of stored) {
        for (const { id } of stage.store.get(sessionID)?.snapshot.context.userRequests ?? []) {
          const taken = stage.clock.now() - (askedAt.get(id) ?? stage.clock.now());
          if (taken > timeout + REJECTED_WITHIN) fault(`${id} of ${sessionID} is open after ${taken} ms`);
        }
      }
    },
  };
};
