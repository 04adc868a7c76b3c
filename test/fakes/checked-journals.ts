import { existsSync } from "node:fs";
import { parseExported } from "../../src/services/promises/exported-journal.ts";
import { serialize } from "../../src/services/replay/export-file.ts";
import { loadSqlite } from "../../src/services/store/sqlite/driver.ts";
import { openJournalReader } from "../../src/services/store/sqlite/journal-reader.ts";
import { brokenPromises } from "./broken-promises.ts";

const openDatabase = loadSqlite({ readonly: true });

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
        const read = parseExported(serialize(journal, { ...facts, hasText }));
        return "wrong" in read ? `the export of ${id} ${read.wrong}` : brokenPromises(read.journal, besides);
      });
    });
    if (broken.length > 0) throw new Error(broken.join("\n"));
  } finally {
    journals.close();
  }
}
