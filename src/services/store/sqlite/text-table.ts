import { deflateSync, inflateSync } from "node:zlib";
import type { StoredSnapshot } from "../../../machines/task/machine.ts";
import { toTask } from "../../../machines/task/view.ts";
import type { Progress } from "../../../task.ts";
import { errorMessage } from "../../platform/log.ts";
import type { TaskRecord } from "../store.ts";
import { type Database, DatabaseError } from "./driver.ts";

/** The number of a text that is stored beside packed JSON. */
export type TextReference = number;

/** Strings with more characters than this become texts. A text takes some 30 bytes beside itself. */
const LONGEST_INLINE = 200;

const REFERENCE = "$text";

/** Keys that would make an object look like a reference. In packed JSON each has one more `$`. */
const LOOKALIKE = /^\$+text$/;
const ESCAPED_LOOKALIKE = /^\$\$+text$/;

type Fields = Record<string, unknown>;

/** Returns the object, or a copy of it in which the keys that match are others. */
const withKeys = (fields: Fields, which: RegExp, rename: (key: string) => string): Fields =>
  Object.keys(fields).some((key) => key.startsWith("$") && which.test(key))
    ? Object.fromEntries(Object.entries(fields).map(([key, field]) => [which.test(key) ? rename(key) : key, field]))
    : fields;

/** Returns a JSON value with each long string replaced by `{ "$text": reference }`. */
export const pack = (value: unknown, store: (text: string) => TextReference): unknown => {
  const packed = (inner: unknown): unknown => {
    if (typeof inner === "string") return inner.length > LONGEST_INLINE ? { [REFERENCE]: store(inner) } : inner;
    if (Array.isArray(inner)) return inner.map(packed);
    return typeof inner === "object" && inner !== null ? withFieldsPacked(inner as Fields) : inner;
  };
  /** Copies only objects with a long string in them, for speed: most have none. */
  const withFieldsPacked = (fields: Fields): Fields => {
    let changed = withKeys(fields, LOOKALIKE, (key) => `$${key}`);
    for (const key of Object.keys(changed)) {
      const field = packed(changed[key]);
      if (field === changed[key]) continue;
      if (changed === fields) changed = { ...fields };
      changed[key] = field;
    }
    return changed;
  };
  return packed(value);
};

/**
 * Parses JSON that `pack` returned, with the texts back in their places. Throws `SyntaxError` when it is not JSON, or has a
 * reference that `pack` did not write; and what `textOf` throws.
 */
export const unpack = (json: string, textOf: (reference: TextReference) => string): unknown => {
  // What was just parsed is nobody else's: it is changed in place, for speed.
  const unpacked = (inner: unknown): unknown => {
    if (typeof inner !== "object" || inner === null) return inner;
    if (!Array.isArray(inner) && REFERENCE in inner) {
      if (typeof inner[REFERENCE] === "number") return textOf(inner[REFERENCE]);
      throw new SyntaxError(`a ${REFERENCE} that refers to nothing`);
    }
    const fields = Array.isArray(inner) ? (inner as unknown as Fields) : (inner as Fields);
    const whole = withKeys(fields, ESCAPED_LOOKALIKE, (key) => key.slice(1));
    for (const key of Object.keys(whole)) {
      const field = whole[key];
      if (typeof field === "object" && field !== null) whole[key] = unpacked(field);
    }
    return whole;
  };
  return unpacked(JSON.parse(json));
};

/** A task in whose name texts are stored. */
interface TextOwner {
  id: string;
  /** Its number. The task may be inserted later in the same transaction. */
  seq: number;
}

/** Of zlib's levels from 1 to 9: 6 takes twice the time for 3 % fewer bytes (measured, on Bun and on Node). */
const LEVEL = 3;

/** Deflates the JSON of a text: SQLite alters a string with half a character in it, and some runtimes end one at a NUL. */
const deflated = (text: string): Uint8Array => deflateSync(JSON.stringify(text), { level: LEVEL });

const inflated = (stored: Uint8Array): string => JSON.parse(inflateSync(stored).toString());

/**
 * Writes the table `text`, which has the long strings of all tasks deflated, each once for each task: a result is part of an
 * event and of two fields of the snapshot.
 *
 * Remembers which texts it stored, until `forget` is called: a live task has the same ones at each change.
 */
export const createTextTable = (database: Database) => {
  const selectAlike = database.prepare<{ seq: number }>("SELECT seq FROM text WHERE task = ? AND text = ?");
  const insert = database.prepare<{ seq: number }>("INSERT INTO text (task, text) VALUES (?, ?) RETURNING seq");
  const remembered = new Map<string, Map<string, TextReference>>();

  return {
    /** Returns a function that stores texts of a task in one transaction, unless it has them, see `pack`. */
    writerFor: ({ id, seq: task }: TextOwner): ((text: string) => TextReference) => {
      const known = remembered.get(id) ?? new Map<string, TextReference>();
      remembered.set(id, known);
      return (text) => {
        const before = known.get(text);
        if (before !== undefined) return before;
        const bytes = deflated(text);
        const { seq } = selectAlike.get(task, bytes) ?? insert.get(task, bytes) ?? { seq: 0 };
        known.set(text, seq);
        return seq;
      };
    },
    /** Forgets which texts of a task are stored, or of all tasks: they may not be, or may be damaged. */
    forget: (taskId?: string) => {
      if (taskId === undefined) remembered.clear();
      else remembered.delete(taskId);
    },
  };
};

/** Finds a text by its reference. Throws when it is missing, or damaged: deflated bytes have a checksum. */
type TextOf = (reference: TextReference) => string;

/** Returns a function that reads texts of the task with a number, each when it is first asked for. */
export const createTextReader = (database: Database): ((task: number) => TextOf) => {
  const select = database.prepare<{ text: Uint8Array }>("SELECT text FROM text WHERE seq = ? AND task = ?");
  return (task) => {
    const texts = new Map<TextReference, string>();
    return (reference) => {
      const known = texts.get(reference);
      if (known !== undefined) return known;
      const row = select.get(reference, task);
      if (!row) throw new SyntaxError(`text ${reference} is missing`);
      const text = inflated(row.text);
      texts.set(reference, text);
      return text;
    };
  };
};

/** The columns that a record is read from. The task itself is not stored: it is derived from these. */
export interface RecordRow {
  id: string;
  seq: number;
  /** Packed, see `pack`. */
  snapshot: string;
  progress: string;
}

/** Selects a `RecordRow`, from `task` alone or joined with tables that have none of its columns but `id`. */
export const RECORD_COLUMNS = "id, seq, snapshot, progress";

/** A row whose text is not what was written. SQLite detects damage to its own structures, but not to a text. */
interface DamagedRow {
  table: "task" | "journal" | "prompt" | "request";
  /** The task's id; of other tables, the row's number and what it belongs to. */
  id: string;
  reason: string;
}

/** Called each time a damaged row is read. Returns the record of a task if it is known without its row. */
export type OnDamaged = (row: DamagedRow) => TaskRecord | undefined;

const intact = <T>(parse: () => unknown): T => {
  try {
    return parse() as T;
  } catch (cause) {
    throw new DatabaseError("damaged", "a row of it is not the JSON that was written", { cause });
  }
};

/** Parses a stored JSON text. Throws `DatabaseError` of kind `damaged` when it is not JSON. */
export const parseStored = <T>(json: string): T => intact(() => JSON.parse(json));

/** Parses packed JSON. Throws `DatabaseError` of kind `damaged` when it is not JSON, or a text of it is damaged. */
export const parsePacked = <T>(json: string, textOf: TextOf): T => intact(() => unpack(json, textOf));

/** Treats a damaged row as damage of the whole file: throws `DatabaseError` of kind `damaged`. */
export const refuseDamaged: OnDamaged = ({ table, id, reason }) => {
  throw new DatabaseError("damaged", `row ${id} of the table "${table}": ${reason}`);
};

export type RowReader = ReturnType<typeof createRowReader>;

/** Reads single rows, so that a damaged one does not affect the others. A row with a damaged text is damaged. */
export const createRowReader = (database: Database, onDamaged: OnDamaged) => {
  const textsOf = createTextReader(database);
  const attempt = <T>(read: () => T, instead: (reason: string) => T | undefined): T | undefined => {
    try {
      return read();
    } catch (error) {
      return instead(errorMessage(error));
    }
  };
  return {
    /** Parses a stored JSON text, or packed JSON with the texts to it. Undefined when it is damaged. */
    value: <T>(table: DamagedRow["table"], id: string, json: string, textOf?: TextOf): T | undefined =>
      attempt(
        () => (textOf ? parsePacked<T>(json, textOf) : parseStored<T>(json)),
        (reason) => {
          onDamaged({ table, id, reason });
          return undefined;
        },
      ),
    /** Reads a record. Undefined when its row is damaged and the record not known otherwise. */
    record: (row: RecordRow): TaskRecord | undefined =>
      attempt(
        () => {
          const snapshot = parsePacked<StoredSnapshot>(row.snapshot, textsOf(row.seq));
          return { task: toTask(snapshot, parseStored<Progress>(row.progress)), snapshot };
        },
        (reason) => onDamaged({ table: "task", id: row.id, reason }),
      ),
  };
};
