import type { Owner } from "../ownership.ts";
import {
  COMMAND_LIFE_MS,
  type CommandOutcome,
  type PendingCommand,
  type RemoteCommand,
  taskNotFound,
} from "../task-history.ts";
import type { Database } from "./database.ts";
import type { RowReader } from "./rows.ts";

interface WaitingRow {
  id: string;
  task: string;
  request: string;
  is_there: number;
}

/** What became of a request whose row is damaged: whoever asked may ask again. */
const UNREADABLE: CommandOutcome = { refused: "the request, or its answer, was damaged on its way: ask again" };

/** Reads and writes the table `request`. All but `isFor` and `isAnswered` is to be done inside a transaction. */
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
  const take = database.prepare("UPDATE request SET is_taken = 1 WHERE id = ?");
  const setAnswer = database.prepare("UPDATE request SET is_taken = 1, answer = ? WHERE id = ?");
  const selectAnswer = database.prepare<{ answer: string }>(
    "SELECT answer FROM request WHERE id = ? AND answer IS NOT NULL",
  );
  const deleteRequest = database.prepare("DELETE FROM request WHERE id = ?");

  const waiting = (now: number) => selectWaiting.all(me.id, me.directory, now - COMMAND_LIFE_MS, me.database);
  const answer = (id: string, given: CommandOutcome) => void setAnswer.run(JSON.stringify(given), id);
  const answerOf = (id: string): CommandOutcome | undefined => {
    const row = selectAnswer.get(id);
    return row && (rows.value<CommandOutcome>("request", id, row.answer) ?? UNREADABLE);
  };

  return {
    ask: ({ id, taskId, request }: PendingCommand, at: number) => {
      deleteOld.run(at - COMMAND_LIFE_MS);
      insert.run(id, taskId, JSON.stringify(request), at);
    },
    /** True when `take` has something to do. Most of the time it has not, and need not wait for the write lock. */
    isForMe: (now: number): boolean => waiting(now).length > 0,
    /** Those for tasks that nobody has any more are answered at once, whoever looks first. */
    take: (now: number): PendingCommand[] =>
      waiting(now).flatMap(({ id, task, request, is_there }) => {
        if (!is_there) {
          answer(id, taskNotFound(task));
          return [];
        }
        const asked = rows.value<RemoteCommand>("request", id, request);
        if (!asked) {
          answer(id, UNREADABLE);
          return [];
        }
        take.run(id);
        return [{ id, taskId: task, request: asked }];
      }),
    answer,
    isAnswered: (id: string): boolean => answerOf(id) !== undefined,
    takeAnswer: (id: string): CommandOutcome | undefined => {
      const given = answerOf(id);
      if (given) deleteRequest.run(id);
      return given;
    },
  };
};
