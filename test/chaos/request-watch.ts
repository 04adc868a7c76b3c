import type { HostEvent } from "../../src/machines/host-events.ts";
import type { UserRequest } from "../../src/machines/task/events.ts";
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

/**
 * Milliseconds within which a request that is too old has been rejected. One that the host does not find, since it is reported
 * again after its answer, is looked for twice, 5 s apart.
 */
const REJECTED_WITHIN = 6_000;

interface WatchedParts {
  stage: Stage;
  /** For how long such a request may be open, in milliseconds; undefined: people may take any time. */
  timeoutOf(kind: UserRequest["kind"]): number | undefined;
  /** The names of the host's calls that a fault was applied to. */
  struck: ReadonlySet<string>;
  fault(words: string): void;
}

/** Creates a watch without any request. */
export const createRequestWatch = ({ stage, timeoutOf, struck, fault }: WatchedParts): RequestWatch => {
  const askedAt = new Map<string, number>();
  return {
    heard: (event) => {
      if (event.type === "asked" && !askedAt.has(event.request.id)) askedAt.set(event.request.id, stage.clock.now());
    },
    began: () => askedAt.clear(),
    look: (stored) => {
      if (struck.has("rejectUserRequest")) return;
      for (const { sessionID } of stored) {
        for (const { id, kind } of stage.store.get(sessionID)?.snapshot.context.userRequests ?? []) {
          const taken = stage.clock.now() - (askedAt.get(id) ?? stage.clock.now());
          if (taken > (timeoutOf(kind) ?? Number.POSITIVE_INFINITY) + REJECTED_WITHIN)
            fault(`${id} of ${sessionID} is open after ${taken} ms`);
        }
      }
    },
  };
};
