import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { JOURNAL_PROMISES } from "../../src/services/promises/check-journal.ts";

const page = readFileSync(fileURLToPath(new URL("../../docs/look-inside.md", import.meta.url)), "utf8");

test("docs/look-inside.md lists each promise of a journal as `check` says it", () => {
  const listed = [...page.matchAll(/^\| ([a-z]+-[a-z-]+) \| (.+) \|$/gm)].map(([, name, says]) => ({ name, says }));
  expect(listed).toEqual(JOURNAL_PROMISES.map(({ name, says }) => ({ name, says })));
  expect(page).toContain(`of ${JOURNAL_PROMISES.length} promises:`);
});
