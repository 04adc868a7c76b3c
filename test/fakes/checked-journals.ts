import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseExported } from "../../src/services/promises/exported-journal.ts";
import { serialize } from "../../src/services/replay/export-file.ts";
import { loadSqlite } from "../../src/services/store/sqlite/driver.ts";
import { openJournalReader } from "../../src/services/store/sqlite/journal-reader.ts";
import { brokenPromises } from "./broken-promises.ts";

const openDatabase = loadSqlite({ readonly: true });

/** Keeps an export without text in the folder that `KEEP_JOURNALS` names, by the id of its task; nowhere if it names none. */
function keep(id: string, exported: string): void {
  const folder = process.env.KEEP_JOURNALS;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${id}.json`), exported);
}

/**
 * Exports the journal of each task in a task database, with its text and without, and holds both against what is promised of
 * journals, but for promises with these names. There may be no such file: the plugin makes it when it is first needed.
 * @throws with all that is broken
 */
export function checkJournals(path: string, besides: readonly string[] = []): void {
  if (!existsSync(path)) return;
  const journals = openJournalReader(path, openDatabase);
  const facts = { exportedAt: new Date().toISOString(), plugin: "tests", schema: journals.schema };
  try {
    const broken = journals.launchedBetween(0, Number.MAX_SAFE_INTEGER).flatMap(({ id }) => {
      const journal = journals.journal(id);
      if (!journal) return [];
      return [true, false].flatMap((hasText) => {
        const exported = serialize(journal, { ...facts, hasText });
        if (!hasText) keep(id, exported);
        const read = parseExported(exported);
        return "wrong" in read ? `the export of ${id} ${read.wrong}` : brokenPromises(read.journal, besides);
      });
    });
    if (broken.length > 0) throw new Error(broken.join("\n"));
  } finally {
    journals.close();
  }
}
