import { existsSync } from "node:fs";
import { loadSqlite } from "../../src/services/store/sqlite/driver.ts";
import { readJournal } from "../../src/services/store/sqlite/journal-reader.ts";
import { taskDatabase } from "./lab/home.ts";

const openDatabase = loadSqlite({ readonly: true });

/** A task as the file has it, whichever process it belongs to. */
export interface StoredTask {
  id: string;
  status: string;
  owner: string | null;
  /** The newest run's. */
  prompt: string;
  result: string | undefined;
}

/** All tasks of a home, such as a lab's, in the order of their launch. The plugin makes the file when it is first needed. */
export const storedTasks = ({ options: { home } }: { options: { home: string } }): StoredTask[] => {
  const path = taskDatabase(home);
  if (!existsSync(path)) return [];
  const database = openDatabase(path);
  try {
    const rows = database
      .prepare<Pick<StoredTask, "id" | "status" | "owner">>("SELECT id, status, owner FROM task ORDER BY seq")
      .all();
    return rows.flatMap((row) => {
      const context = readJournal(database, row.id)?.snapshot.context;
      return context ? { ...row, prompt: context.run.prompt, result: context.result } : [];
    });
  } finally {
    database.close();
  }
};
