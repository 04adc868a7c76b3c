import { deflateSync, inflateSync } from "node:zlib";
import type { Database } from "./database.ts";
import type { TextReference } from "./packed-json.ts";

/** A task in whose name texts are stored. */
export interface TextOwner {
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
export type TextOf = (reference: TextReference) => string;

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
