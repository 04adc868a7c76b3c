import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { JOURNAL_PROMISES } from "../../../src/services/promises/check-journal.ts";
import { DONE, journalOf } from "../../services/promises/written-journal.ts";
import { temporaryFolder } from "../../services/store/folder-and-log.ts";
import { scriptTask } from "../../services/store/scripted-task.ts";
import { createSharedDatabase } from "../../services/store/shared-database.ts";
import { commandHere } from "../command-line.ts";

const FACTS = { exportedAt: "2026-01-01T00:00:00.000Z", plugin: "0.1.0", schema: 1, hasText: true };
const EXPORTED = { format: "opencode-taskchart journal", version: 2, ...FACTS };

/** Writes a file, of an exported journal unless it is something else. */
const fileOf = (content: unknown): string => {
  const path = join(temporaryFolder(), "journal.json");
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
};

test("names each promise that it checks, and ends with 0 where all are kept", async () => {
  const path = fileOf({ ...EXPORTED, ...journalOf(DONE) });
  const { code, out, error } = await commandHere(["check", path], { columns: 80 });
  expect(out).toMatch(
    /^count the files\nses_counting: completed, agent general\nExported at 2026-01-01T00:00:00.000Z by version 0.1.0.\n\n/,
  );
  const named = [...out.matchAll(/^✓ ([a-z-]+) /gm)].map(([, name]) => name);
  expect(named).toEqual(JOURNAL_PROMISES.map(({ name }) => name));
  expect(out).toContain(`\nThe journal keeps all ${JOURNAL_PROMISES.length} promises: 7 events.\n`);
  for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  expect({ code, error }).toEqual({ code: 0, error: "" });
});

test("shows below a broken promise which event breaks it and how, and ends with 1", async () => {
  const path = fileOf({ ...EXPORTED, ...journalOf([...DONE, "NOTICE_ACKNOWLEDGED"]) });
  const { code, out } = await commandHere(["check", path], { columns: 120 });
  expect(out).toMatch(
    /\n✗ delivered-once {2,}Each end is delivered once: .*\n {4}event 8, \d\d:\d\d:08.000 NOTICE_ACKNOWLEDGED, is a notice of an end that event 7 \(NOTICE_ACKNOWLEDGED\) delivered.\n✓ /,
  );
  expect(out).toContain(`\nThe journal breaks 1 of ${JOURNAL_PROMISES.length} promises: 8 events.\n`);
  expect(code).toBe(1);
});

test("prints as JSON what it checked, and what is wrong where", async () => {
  const path = fileOf({ ...EXPORTED, ...journalOf([...DONE, "NOTICE_ACKNOWLEDGED"]) });
  const { code, out } = await commandHere(["check", path, "--json"]);
  const { promises, ...rest } = JSON.parse(out);
  expect(rest).toEqual({ taskId: "ses_counting", isComplete: true, isKept: false });
  expect(promises).toHaveLength(JOURNAL_PROMISES.length);
  expect(promises).toContainEqual({
    name: "delivered-once",
    says: expect.any(String),
    breaches: [{ event: 8, what: "is a notice of an end that event 7 (NOTICE_ACKNOWLEDGED) delivered" }],
  });
  expect(code).toBe(1);
});

test("says nothing of a journal that does not begin at the launch, and ends with 3", async () => {
  const path = fileOf({ ...EXPORTED, ...journalOf(DONE), origin: null });
  const { code, out } = await commandHere(["check", path]);
  expect(out).toContain("The journal does not start at the task's launch");
  expect(out).not.toContain("✓");
  expect(code).toBe(3);
});

test.each([
  ["not JSON", "is not JSON"],
  [{ some: "thing" }, "is not an exported journal"],
  [{ ...EXPORTED, version: 1 }, "was exported by an older version of this plugin: export the task again"],
  [{ ...EXPORTED, version: 7 }, "has layout 7, and this version reads layout 2"],
  [
    { ...EXPORTED, ...journalOf([{ type: "TICK", checkId: "2" } as never]) },
    "is damaged: events.0.checkId: Invalid input: expected number, received string",
  ],
])("refuses a file that is no journal, and says why: %j", async (content, why) => {
  const path = fileOf(content);
  const { code, out, error } = await commandHere(["check", path]);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(error).toBe(`The file ${path} ${why}. Use a file written by the command "export".\n`);
});

test("says of a file that is not there that it cannot be read, and asks for one", async () => {
  expect(await commandHere(["check", "/no/such.json"])).toMatchObject({
    code: 2,
    error: expect.stringMatching(/^The file cannot be read: ENOENT/),
  });
  expect((await commandHere(["check"])).error).toBe(
    'Give a file written by the command "export", or --all for all stored tasks.\n',
  );
  expect((await commandHere(["check", "a.json", "--all"])).error).toBe(
    "A file cannot be combined with --all or --data.\n",
  );
});

test("--all checks every stored task, and shows those whose journals break a promise", async () => {
  const file = createSharedDatabase();
  const { store } = file.openAs("OpenCode");
  const story = scriptTask("ses_counting", { description: "count the files" });
  store.commit(story.whole());
  store.commit(story.resume());
  const data = dirname(file.path);
  expect(await commandHere(["check", "--all", "--data", data])).toEqual({
    code: 0,
    out: `All ${JOURNAL_PROMISES.length} promises are kept: 1 journal.\n`,
    error: "",
  });

  const event = { type: "STOPPED" as const, at: Date.UTC(2026, 0, 2) };
  store.commit({ records: [story.record()], journal: [{ taskId: story.id, event }], prompts: [] });
  const broken = await commandHere(["check", "--all", "--data", data]);
  expect(broken.out).toMatch(
    /^count the files\nses_counting: .*\n✗ [^✓]*\n\nA promise is broken in 1 of 1 journal.\n$/,
  );
  expect(broken.code).toBe(1);
  const { out } = await commandHere(["check", "--all", "--json", "--data", data]);
  expect(JSON.parse(out)).toMatchObject([{ taskId: "ses_counting", isComplete: true, isKept: false }]);
});
