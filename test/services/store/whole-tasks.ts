import type { Store, TaskFilter } from "../../../src/services/store/store.ts";
import type { Task } from "../../../src/task.ts";

/** Returns the matching tasks with all that the store has of them, in the order of their launch. */
export const wholeTasks = (store: Pick<Store, "list" | "get">, filter: TaskFilter = {}): Task[] =>
  store.list(filter).flatMap(({ sessionID }) => store.get(sessionID)?.task ?? []);
