// ADR-114 in docs/decisions.md
import type { Database } from "./database.ts";

/** Rows that are in memory at once. */
const PAGE_SIZE = 500;

type Fields = Record<string, unknown>;

const EVENTS: Readonly<Record<string, string>> = {
  SESSION_MISSING: "SESSION_NOT_FOUND",
  SESSION_GONE: "SESSION_DELETED",
  LOOKED_BUSY: "CHECKED_BUSY",
  LOOKED_ANSWERED: "CHECKED_ANSWERED",
  LOOKED_FAILED: "CHECKED_FAILED",
  LOOKED_ABORTED: "CHECKED_ABORTED",
  LOOKED_UNANSWERED: "CHECKED_UNANSWERED",
  LOOKED_MISSING: "CHECKED_NOT_FOUND",
  LOOK_FAILED: "CHECK_FAILED",
  RETRIEVED: "RESULT_READ",
  BROKEN: "SUPERVISION_FAILED",
  LET_GO: "WAIT_ABANDONED",
  TOLD: "WAIT_DELIVERED",
  NOTICE_FORMED: "NOTICE_COMPOSED",
  WENT_QUIET: "BECAME_STALE",
  HEARD: "ACTIVITY_SEEN",
};

const EVENT_FIELDS: Readonly<Record<string, string>> = { look: "checkId", underWay: "isNoticePending" };

const CONTEXT_FIELDS: Readonly<Record<string, string>> = {
  sends: "sendAttempts",
  stops: "stopAttempts",
  look: "checkId",
  misses: "failedChecks",
  hinted: "idleHinted",
  wakeAt: "nextDeadline",
  end: "lastRunResult",
  requests: "userRequests",
  quietSince: "staleSince",
};

const RUN_STATES: Readonly<Record<string, string>> = {
  launching: "sending",
  prompting: "sending",
  settling: "verifying",
  reclaiming: "recovering",
};

const isRecord = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const nameIn = (names: Readonly<Record<string, string>>, name: string): string =>
  Object.hasOwn(names, name) ? (names[name] ?? name) : name;

const withFieldsRenamed = (fields: Fields, names: Readonly<Record<string, string>>): Fields =>
  Object.fromEntries(Object.entries(fields).map(([field, value]) => [nameIn(names, field), value]));

const renameEvent = (event: unknown): unknown =>
  isRecord(event) && typeof event.type === "string"
    ? { ...withFieldsRenamed(event, EVENT_FIELDS), type: nameIn(EVENTS, event.type) }
    : event;

/** The states inside `running` and `resumed` are now those of a region of its own. */
const splitLifecycle = ({ lifecycle, ...others }: Fields): Fields => {
  if (!isRecord(lifecycle)) return { lifecycle, run: "idle", ...others };
  const [[status, inner] = []] = Object.entries(lifecycle);
  return { lifecycle: status, run: typeof inner === "string" ? nameIn(RUN_STATES, inner) : inner, ...others };
};

const renameSnapshot = (snapshot: unknown): unknown =>
  isRecord(snapshot) && isRecord(snapshot.value) && "lifecycle" in snapshot.value && isRecord(snapshot.context)
    ? {
        ...snapshot,
        value: splitLifecycle(snapshot.value),
        context: withFieldsRenamed(snapshot.context, CONTEXT_FIELDS),
      }
    : snapshot;

/** Rewrites the JSON in a column, row by row. A row that is not JSON stays as it is: no rename makes it readable. */
const rewrite = (database: Database, table: string, column: string, change: (value: unknown) => unknown): void => {
  const select = database.prepare<{ seq: number; text: string }>(
    `SELECT seq, ${column} AS text FROM ${table} WHERE seq > ? AND json_valid(${column}) ORDER BY seq LIMIT ${PAGE_SIZE}`,
  );
  const update = database.prepare(`UPDATE ${table} SET ${column} = ? WHERE seq = ?`);
  for (let rows = select.all(0); rows.length > 0; rows = select.all(rows.at(-1)?.seq ?? 0)) {
    for (const { seq, text } of rows) {
      const changed = JSON.stringify(change(JSON.parse(text)));
      if (changed !== text) update.run(changed, seq);
    }
  }
};

/**
 * Puts the names that the task's chart has since version 7 into what earlier versions stored: events and their fields in
 * journals, states and fields of the context in snapshots. Origins, prompts and commands have none of these names.
 */
export const renameChartTerms = (database: Database): void => {
  rewrite(database, "task", "snapshot", renameSnapshot);
  rewrite(database, "journal", "event", renameEvent);
};
