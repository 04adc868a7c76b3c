// ADR-131 in docs/decisions.md
import type { Database } from "./database.ts";
import type { TextReference } from "./packed-json.ts";

/** Three rows of so many bytes fill a page of SQLite's. */
const ROW_BYTES = 1_340;

/**
 * Of a longer row, SQLite keeps up to 4,061 bytes in its page, and the rest in pages of its own, each of 4,092 bytes. Only
 * 489 bytes stay when the rest fills its pages (https://sqlite.org/fileformat2.html#b_tree_pages).
 */
const KEPT_BYTES = 489;
const OVERFLOW_BYTES = 4_092;

/** How many of so many bytes one row takes without leaving room unused: none, or 489 and some pages. */
const bytesOfFullPages = (bytes: number): number => {
  const pages = Math.floor((bytes - KEPT_BYTES) / OVERFLOW_BYTES);
  return pages < 1 ? 0 : KEPT_BYTES + pages * OVERFLOW_BYTES;
};

const isLowSurrogate = (text: string, index: number): boolean => (text.charCodeAt(index) & 0xfc00) === 0xdc00;

/**
 * Cuts a text into rows, at most four, that leave little of SQLite's pages unused: whole texts left a fifth of them
 * (measured with texts of up to 12 kB), and where texts of 1 and 4 kB alternated, two fifths.
 */
export const cutIntoRows = (text: string): string[] => {
  const bytes = Buffer.byteLength(text);
  const full = bytesOfFullPages(bytes);
  const count = Math.ceil((bytes - full) / ROW_BYTES);
  const equal = Array.from({ length: count }, (_, index) => full + ((bytes - full) * (index + 1)) / count);
  let from = 0;
  return (full > 0 ? [full, ...equal] : equal).map((end) => {
    const cut = Math.round((end * text.length) / bytes);
    const to = isLowSurrogate(text, cut) ? cut + 1 : cut;
    const row = text.slice(from, to);
    from = to;
    return row;
  });
};

/** A task in whose name texts are stored. */
export interface TextOwner {
  id: string;
  /** Its number. The task may be inserted later in the same transaction. */
  seq: number;
  /** The number of the next row in the table `text`. */
  nextText: number;
  /** True when the file cannot have texts of it. */
  isNew: boolean;
}

/** Stores texts of one task in one transaction, see `pack`. */
export interface TextWriter {
  /** Stores a text, unless the task has it. */
  store(text: string): TextReference;
  /** Returns the numbers of the rows with all texts that were passed to `store`, as JSON. */
  rows(): string;
}

/** Writes the table `text`. */
export interface TextTable {
  writerFor(task: TextOwner): TextWriter;
  /** Forgets which texts of a task are stored, or of all tasks: they may not be, or may be damaged. */
  forget(taskId?: string): void;
}

/** Selects the column `nextText` of a `TextOwner`. */
export const NEXT_TEXT = "(SELECT ifnull(max(text.seq), 0) + 1 FROM text) AS nextText";

interface StoredText {
  reference: TextReference;
  rows: readonly number[];
}

/**
 * Writes the table `text`, which has the long strings of all tasks, each once for each task. They are stored as JSON: SQLite
 * alters a string with half a character in it, and some runtimes end one at a NUL.
 *
 * Remembers which texts it stored, until it is told to forget them: a live task has the same ones at each change.
 */
export const createTextTable = (database: Database): TextTable => {
  const selectAlike = database.prepare<{ seq: number }>(
    "SELECT seq FROM text WHERE task = ? AND length = ? AND json = ?",
  );
  const selectRest = database.prepare<{ json: string }>(
    "SELECT json FROM text WHERE seq > ? AND seq <= ? AND task = ? ORDER BY seq",
  );
  const insert = database.prepare("INSERT INTO text (seq, task, length, json) VALUES (?, ?, ?, ?)");
  const remembered = new Map<string, Map<string, StoredText>>();

  /** True when the rows after the first one are those of the text. */
  const isWhole = (task: number, first: number, [, ...rest]: readonly string[]): boolean =>
    rest.length === 0 ||
    selectRest
      .all(first, first + rest.length, task)
      .every(({ json }, index, { length }) => length === rest.length && json === rest[index]);

  return {
    writerFor: ({ id, seq: task, nextText, isNew }) => {
      const known = (isNew ? undefined : remembered.get(id)) ?? new Map<string, StoredText>();
      remembered.set(id, known);
      const used: number[] = [];
      let next = nextText;

      const store = (text: string): StoredText => {
        const { length } = text;
        const rows = cutIntoRows(JSON.stringify(text));
        const alike = isNew ? [] : selectAlike.all(task, length, rows[0] ?? "");
        const same = alike.find(({ seq }) => isWhole(task, seq, rows));
        const first = same?.seq ?? next;
        const numbers = rows.map((_, index) => first + index);
        if (!same) {
          for (const [index, json] of rows.entries()) insert.run(next + index, task, index === 0 ? length : null, json);
          next += rows.length;
        }
        return { reference: `${first}:${length}`, rows: numbers };
      };

      return {
        store: (text) => {
          const stored = known.get(text) ?? store(text);
          known.set(text, stored);
          used.push(...stored.rows);
          return stored.reference;
        },
        rows: () => JSON.stringify([...new Set(used)]),
      };
    },
    forget: (taskId) => {
      if (taskId === undefined) remembered.clear();
      else remembered.delete(taskId);
    },
  };
};

/** The names of texts, see `TextReference`: they show when a text lacks a row. */
const REFERENCE = "seq || ':' || length";

/** Selects the texts that the snapshot of a row of `task` refers to, for `joinedTexts`. */
export const TEXTS_OF_SNAPSHOT = `(
  SELECT group_concat(iif(length IS NULL, json, ',"' || ${REFERENCE} || '":' || json), '') FROM (
    SELECT text.seq, text.length, text.json
    FROM json_each(iif(json_valid(task.texts), task.texts, '[]')) CROSS JOIN text ON text.seq = value AND text.task = task.seq
  )) AS texts`;

/** Finds a text by its reference. Throws `SyntaxError` when it is missing, or not the one that was written. */
export type TextOf = (reference: TextReference) => string;

const textIn = (json: unknown, reference: TextReference): string => {
  // A text that lacks a row may be JSON all the same.
  if (typeof json === "string" && reference.endsWith(`:${json.length}`)) return json;
  throw new SyntaxError(`text ${reference} is not the one that was written`);
};

/** Reads the column `TEXTS_OF_SNAPSHOT`. Throws `SyntaxError` when one of the texts is damaged. */
export const joinedTexts = (selected: string | null): TextOf => {
  const texts = new Map(Object.entries(JSON.parse(`{${(selected ?? "").slice(1)}}`)));
  return (reference) => textIn(texts.get(reference), reference);
};

/** Returns a function that reads all texts of the task with a number. */
export const createTextReader = (database: Database): ((task: number) => TextOf) => {
  const select = database.prepare<{ name: string | null; json: string }>(
    `SELECT iif(length IS NULL, NULL, ${REFERENCE}) AS name, json FROM text WHERE task = ? ORDER BY seq`,
  );
  return (task) => {
    const texts = new Map<string, string>();
    let last = "";
    for (const { name, json } of select.all(task)) {
      last = name ?? last;
      texts.set(last, (texts.get(last) ?? "") + json);
    }
    return (reference) => textIn(JSON.parse(texts.get(reference) ?? "null"), reference);
  };
};
