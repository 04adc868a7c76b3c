import { join } from "node:path";
import { loadSqlite } from "../../src/services/store/sqlite/driver.ts";
import { readJournal } from "../../src/services/store/sqlite/journal-reader.ts";
import { type StoredTask, storedTasks } from "../../test/e2e/stored.ts";
import type { Server } from "./servers.ts";

/** How a task stands where it was launched. */
export interface Standing {
  id: string;
  description: string;
  status: StoredTask["status"];
  /** The server that works on it, or ended it; absent before one began. */
  server?: string;
  /** How many servers have begun it. */
  begun: number;
}

const openDatabase = loadSqlite({ readonly: true });

/** Reads how the tasks stand that a server has launched, from its own file. */
export const standings = ({ lab }: Server): Standing[] => {
  const ids = storedTasks(lab).map(({ id, status }) => ({ id, status }));
  if (ids.length === 0) return [];
  const database = openDatabase(join(lab.options.home, "data", "opencode-taskchart", "tasks.db"));
  try {
    return ids.flatMap(({ id, status }) => {
      const context = readJournal(database, id)?.snapshot.context;
      if (!context) return [];
      const { facts, remote } = context;
      const server = remote && { server: remote.server.label };
      return [{ id, status, description: facts.description, begun: remote?.attempts.length ?? 0, ...server }];
    });
  } finally {
    database.close();
  }
};

/** Returns the state of a task in a few words. */
const wordsOf = ({ status, server, begun }: Standing): string => {
  if (status !== "running") return `${status} on ${server ?? "laptop"}`;
  if (server === undefined) return "waits for a server";
  return begun > 1 ? `begun anew, on ${server}` : `at work on ${server}`;
};

/** Returns a function that says what is new since it was asked last, a line for each task that has moved. */
export const createTeller = (): ((tasks: readonly Standing[]) => { description: string; words: string }[]) => {
  const told = new Map<string, string>();
  return (tasks) =>
    tasks.flatMap((task) => {
      const words = wordsOf(task);
      if (told.get(task.id) === words) return [];
      told.set(task.id, words);
      return [{ description: task.description, words }];
    });
};
