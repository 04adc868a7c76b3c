import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { journalFile, parseWholeJournal, STORIES, type Story } from "./statecharts/stories.ts";
import { type Step, tell, waitOf, wayOf } from "./statecharts/told.ts";

/**
 * `npm run stories`: plays each story in the real OpenCode again, and keeps the journal that goes its way in the shortest time.
 * Exits with 1 where none does. `--only words` plays those whose files' names have these words.
 */
const { values } = parseArgs({ options: { only: { type: "string", default: "" } } });

interface Told {
  text: string;
  steps: Step[];
}

/** Runs the test that plays a story, and returns what the journals say that it keeps. */
const play = ({ playedBy: { file, test } }: Story): Told[] => {
  const folder = mkdtempSync(join(tmpdir(), "taskchart-stories-"));
  try {
    const named = test.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const args = ["vitest", "run", "--project", "e2e", `test/e2e/${file}.test.ts`, "--testNamePattern", named];
    spawnSync("npx", args, { env: { ...process.env, KEEP_JOURNALS: folder }, stdio: "inherit" });
    return readdirSync(folder).flatMap((name) => {
      const text = readFileSync(join(folder, name), "utf8");
      const journal = parseWholeJournal(text);
      return journal ? [{ text, steps: tell(journal) }] : [];
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const lasted = ({ steps }: Told): number => steps.at(-1)?.at ?? 0;

for (const story of STORIES.filter(({ file }) => file.includes(values.only))) {
  const [shortest] = play(story)
    .filter(({ steps }) => wayOf(steps).join() === story.way.join() && waitOf(steps) >= (story.waits ?? 0))
    .toSorted((one, other) => lasted(one) - lasted(other));
  if (shortest) writeFileSync(journalFile(story), shortest.text);
  else process.exitCode = 1;
  process.stdout.write(`${story.file}: ${shortest ? "written" : "no journal goes this way, the old one stays"}\n`);
}
