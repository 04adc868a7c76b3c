import type { HostEvent } from "../../src/machines/host-events.ts";
import type { UserRequest } from "../../src/machines/task/events.ts";
import { isAtRest } from "../../src/machines/task/machine.ts";
import type { Store } from "../../src/services/store/store.ts";
import { isTaskReminder } from "../../src/services/text/reminder-text.ts";
import type { Task } from "../../src/task.ts";
import type { Stage } from "../fakes/stage.ts";
import { wholeTasks } from "../services/store/whole-tasks.ts";
import type { HostCall } from "./calls.ts";
import type { CountedProcess } from "./counted-process.ts";
import type { TaskObservations } from "./observations.ts";

/**
 * Milliseconds within which a request that is too old has been rejected. One that the host does not find, since it is reported
 * again after its answer, is looked for twice, 5 s apart.
 */
const REJECTED_WITHIN = 6_000;

interface RequestParts {
  stage: Stage;
  /** For how long such a request may be open, in milliseconds; undefined: people may take any time. */
  timeoutOf(kind: UserRequest["kind"]): number | undefined;
  /** The names of the host's calls that a fault was applied to. */
  struck: ReadonlySet<string>;
  fault(words: string): void;
}

/** Watches that no request of a task stays open for longer than the option `attention.timeout` allows. */
export const createRequestWatch = ({ stage, timeoutOf, struck, fault }: RequestParts) => {
  const askedAt = new Map<string, number>();
  return {
    /** Records that the process hears an event. */
    heard: (event: HostEvent) => {
      if (event.type === "asked" && !askedAt.has(event.request.id)) askedAt.set(event.request.id, stage.clock.now());
    },
    /** A process that begins knows of no request. */
    began: () => askedAt.clear(),
    /** Looks at the stored tasks. */
    look: (stored: readonly Task[]) => {
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

/** The calls of which one posts a reminder. */
const POSTING: readonly HostCall[] = ["busy", "session", "prompt"];

/**
 * Watches that agents are reminded of their tasks once their conversations were summed up.
 * @param struck the names of the host's calls that a fault was applied to
 */
export const createReminderWatch = (stage: Stage, struck: ReadonlySet<string>) => {
  let compactions: { sessionID: string; at: number; life: CountedProcess }[] = [];

  const isReminded = (sessionID: string, since: number): boolean => {
    const { messages, parts } = stage.host.at(sessionID);
    return messages.some(
      ({ id, createdAt }) => createdAt >= since && parts.get(id)?.some(({ text }) => isTaskReminder(text)),
    );
  };

  return {
    /** Records that this process hears an event. */
    heard: ({ type, sessionID }: HostEvent, life: CountedProcess) => {
      // The host took the note, and then refused it: it is not posted again.
      if (type === "error") compactions = compactions.filter((one) => one.sessionID !== sessionID);
      if (type !== "compacted" || stage.store.list({ parentSessionID: sessionID }).length === 0) return;
      compactions.push({ sessionID, at: stage.clock.now(), life });
    },
    /** The sessions that were never reminded, though the process that heard of the summary lives. */
    missing: (life: CountedProcess): string[] => {
      // A note that the host refuses, or on which our adapter throws, is not posted again.
      if (POSTING.some((call) => struck.has(call))) return [];
      return (
        compactions
          .filter(({ sessionID, life: heardIn }) => heardIn === life && stage.host.sessionIDs().includes(sessionID))
          // Tasks that are cleared need no reminder, nor do those that were launched after the summary.
          .filter(({ sessionID, at }) =>
            stage.store.list({ parentSessionID: sessionID }).some(({ launchedAt }) => launchedAt <= at),
          )
          .filter(({ sessionID, at }) => !isReminded(sessionID, at))
          .map(({ sessionID }) => `${sessionID} was summed up, and its agent never reminded of its tasks`)
      );
    },
  };
};

interface RetentionParts {
  tracks: TaskObservations;
  /** Says which results of these tasks were never delivered. */
  undelivered(tasks: Task[]): string[];
  fault(words: string): void;
}

/** Watches that the option `retention` removes no task but those that are at rest, and whose results were delivered. */
export const watchRetention = (store: Store, { tracks, undelivered, fault }: RetentionParts): Store => ({
  ...store,
  sweep: (retention, now) => {
    const before = wholeTasks(store).map((task) => ({ task, snapshot: store.get(task.sessionID)?.snapshot }));
    const count = store.sweep(retention, now);
    for (const { task, snapshot } of before) {
      if (store.get(task.sessionID)) continue;
      if (!snapshot || !isAtRest(snapshot)) fault(`${task.sessionID} was removed as outdated, and is not at rest`);
      for (const words of undelivered([task])) fault(`${words}, and it was removed as outdated`);
      tracks.isOutdated(task);
    }
    return count;
  },
});
