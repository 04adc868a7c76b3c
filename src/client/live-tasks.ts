import type { ApiFailure } from "./api-result.ts";
import type { ApiTask } from "./api-types.ts";
import type { FoundServer } from "./find-server.ts";
import type { FeedEvent } from "./task-feed.ts";

/** The tasks as a reader of the feed knows them. */
export interface LiveTasks {
  /** By id: all that have not ended, the 200 that had ended last at the beginning, and all that have changed since. */
  tasks: ReadonlyMap<string, ApiTask>;
  /** The server that the tasks are from; absent before the first snapshot. */
  server?: FoundServer;
  /** Why nothing new is heard at the moment; absent while the feed is connected. The tasks are those last heard of. */
  lost?: ApiFailure;
}

/** What a reader knows before the first event. */
export const NO_TASKS: LiveTasks = { tasks: new Map() };

/** Returns the tasks as they are after an event of the feed. Changes nothing that it was given. */
export const afterEvent = (known: LiveTasks, event: FeedEvent): LiveTasks => {
  switch (event.type) {
    case "snapshot":
      return { tasks: new Map(event.tasks.map((task) => [task.sessionID, task])), server: event.server };
    case "task":
      return { ...known, tasks: new Map(known.tasks).set(event.task.sessionID, event.task) };
    case "removed": {
      const tasks = new Map(known.tasks);
      tasks.delete(event.sessionID);
      return { ...known, tasks };
    }
    case "lost":
      return { ...known, lost: event.failure };
  }
};
