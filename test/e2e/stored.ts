import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** A task as the file has it, whichever process it belongs to. */
export interface StoredTask {
  id: string;
  status: string;
  owner: string | null;
  /** The newest run's. */
  prompt: string;
  result: string | undefined;
}

/** All tasks of a home, such as a lab's, in the order of their launch. */
export const storedTasks = ({ options: { home } }: { options: { home: string } }): StoredTask[] => {
  const path = join(home, "data", "opencode-taskchart", "tasks.db");
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const rows = database.prepare("SELECT id, status, owner, snapshot FROM task ORDER BY seq").all();
    return rows.map(({ id, status, owner, snapshot }) => {
      const { run, result } = JSON.parse(String(snapshot)).context;
      return {
        id: String(id),
        status: String(status),
        owner: owner === null ? null : String(owner),
        prompt: run.prompt,
        result,
      };
    });
  } finally {
    database.close();
  }
};
