import type { Task } from "../../task.ts";
import { fail, type Outcome } from "../platform/result.ts";
import type { Store } from "../store/store.ts";
import { join, nameOf, own, quoteLine } from "../text/own-text.ts";
import type { ToolNames } from "../text/tool-names.ts";

/** Finds the one task of a parent whose id is, or begins with, what is given. `get` gives a task as people see it. */
export const createTaskFinder =
  (store: Store, get: (taskId: string) => Task | undefined, { list }: ToolNames) =>
  (parentSessionID: string, given: string): Outcome<Task> => {
    const id = given.trim();
    const tasks = store.list({ parentSessionID });
    const exact = tasks.filter(({ sessionID }) => sessionID === id);
    const found = exact.length > 0 || id === "" ? exact : tasks.filter(({ sessionID }) => sessionID.startsWith(id));
    const task = found.length === 1 && found[0] ? get(found[0].sessionID) : undefined;
    if (task) return { ok: true, value: task };
    if (found.length > 1) {
      const ids = found.map(({ sessionID }) => nameOf(sessionID));
      return fail(own`${quoteLine(id)} begins the ids of ${found.length} tasks: ${join(ids, ", ")}. Give more of it.`);
    }
    const more = list ? own` ${nameOf(list)} shows the tasks it has.` : own``;
    return fail(own`This session has no task ${quoteLine(id)}.${more}`);
  };
