import type { Owner } from "../ownership.ts";
import {
  COMMAND_LIFE_MS,
  type CommandOutcome,
  type PendingCommand,
  type RemoteCommand,
  taskNotFound,
} from "../store.ts";
import type { Database } from "./driver.ts";
import type { RowReader } from "./text-table.ts";

interface WaitingRow {
  id: string;
  task: string;
  request: string;
  is_there: number;
}

/** The outcome of a command whose row is damaged. */
const UNREADABLE: CommandOutcome = { refused: "the command, or its outcome, was damaged in the database: try again" };

/** Reads and writes the table `request`. All methods but `isForMe` and `hasOutcome` need a transaction. */
export const createCommandTable = (database: Database, me: Owner, rows: RowReader) => {
  const insert = database.prepare("INSERT OR IGNORE INTO request (id, task, request, at) VALUES (?, ?, ?, ?)");
  const deleteOld = database.prepare("DELETE FROM request WHERE at < ?");
  const selectWaiting = database.prepare<WaitingRow>(
    `SELECT request.id, request.task, request, task.id IS NOT NULL AS is_there
     FROM request LEFT JOIN task ON task.id = request.task
     WHERE NOT is_taken AND request.at >= ?3
       AND (task.id IS NULL OR owner = ?1 OR (owner IS NULL AND directory = ?2 AND database = ?4))
     ORDER BY request.rowid`,
  );
  const markTaken = database.prepare("UPDATE request SET is_taken = 1 WHERE id = ?");
  const updateOutcome = database.prepare("UPDATE request SET is_taken = 1, answer = ? WHERE id = ?");
  const selectOutcome = database.prepare<{ answer: string }>(
    "SELECT answer FROM request WHERE id = ? AND answer IS NOT NULL",
  );
  const deleteCommand = database.prepare("DELETE FROM request WHERE id = ?");

  const waiting = (now: number) => selectWaiting.all(me.id, me.directory, now - COMMAND_LIFE_MS, me.database);
  const storeOutcome = (id: string, outcome: CommandOutcome) => void updateOutcome.run(JSON.stringify(outcome), id);
  const outcomeOf = (id: string): CommandOutcome | undefined => {
    const row = selectOutcome.get(id);
    return row && (rows.value<CommandOutcome>("request", id, row.answer) ?? UNREADABLE);
  };

  return {
    submit: ({ id, taskId, command }: PendingCommand, at: number) => {
      deleteOld.run(at - COMMAND_LIFE_MS);
      insert.run(id, taskId, JSON.stringify(command), at);
    },
    /** True when `take` has something to do. Asked first, since mostly it has not, and would wait for the write lock. */
    isForMe: (now: number): boolean => waiting(now).length > 0,
    /** Takes the commands for this owner, and refuses those for tasks that no longer exist. */
    take: (now: number): PendingCommand[] =>
      waiting(now).flatMap(({ id, task, request, is_there }) => {
        if (!is_there) {
          storeOutcome(id, taskNotFound(task));
          return [];
        }
        const command = rows.value<RemoteCommand>("request", id, request);
        if (!command) {
          storeOutcome(id, UNREADABLE);
          return [];
        }
        markTaken.run(id);
        return [{ id, taskId: task, command }];
      }),
    storeOutcome,
    hasOutcome: (id: string): boolean => outcomeOf(id) !== undefined,
    takeOutcome: (id: string): CommandOutcome | undefined => {
      const outcome = outcomeOf(id);
      if (outcome) deleteCommand.run(id);
      return outcome;
    },
  };
};
