import { chmodSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readDiff } from "../../../src/services/text/diff.ts";
import { newRepository, type Repository } from "../../fakes/repository.ts";

/** What git itself writes for a change of these files. */
const diffOf = (
  before: Record<string, string>,
  after: Record<string, string>,
  work: (project: Repository) => void = () => undefined,
) => {
  const project = newRepository(before);
  project.write(after);
  work(project);
  project.git("add", "-A");
  return readDiff(project.git("diff", "--cached", "--binary", "--full-index", "-M"));
};

test("each line of a changed file says what it is, and its number before and after", () => {
  expect(diffOf({ "a b.txt": "one\ntwo\n" }, { "a b.txt": "one\n2\nthree\n" })).toEqual([
    {
      path: "a b.txt",
      change: undefined,
      lines: [
        { kind: "hunk", text: "@@ -1,2 +1,3 @@" },
        { kind: "same", text: "one", before: 1, after: 1 },
        { kind: "removed", text: "two", before: 2 },
        { kind: "added", text: "2", after: 2 },
        { kind: "added", text: "three", after: 3 },
      ],
    },
  ]);
});

describe("a file as a whole", () => {
  const summary = (files: ReturnType<typeof readDiff>) => files.map(({ path, change }) => [path, change]);

  test("was added or deleted", () => {
    expect(
      summary(diffOf({ "gone.txt": "a\n" }, { "é new.txt": "b\n" }, (project) => project.git("rm", "-q", "gone.txt"))),
    ).toEqual([
      ["gone.txt", "deleted"],
      ["é new.txt", "added"],
    ]);
  });

  test("was renamed, with changes or without", () => {
    const text = "one\ntwo\nthree\nfour\nfive\nsix\n";
    const [renamed] = diffOf({ "a.txt": text }, {}, (project) => project.git("mv", "a.txt", "b.txt"));
    expect(renamed).toEqual({ path: "b.txt", change: "renamed from a.txt", lines: [] });
  });

  test("is no text, or may be executed now", () => {
    expect(summary(diffOf({ "a.bin": "\0one" }, { "a.bin": "\0two" }))).toEqual([["a.bin", "no text"]]);
    expect(summary(diffOf({ "a.sh": "ls\n" }, {}, ({ top }) => chmodSync(join(top, "a.sh"), 0o755)))).toEqual([
      ["a.sh", "mode 100644 → 100755"],
    ]);
  });
});

test("nothing in a line is hidden: neither what moves a cursor nor what turns letters round, and its indentation stays", () => {
  const [file] = diffOf({ "a.txt": "\n" }, { "a.txt": "\tif (a) {\u202e\u001b[2J\r\n" });
  expect(file?.lines.at(-1)?.text).toBe("    if (a) {\\u202e\\u001b[2J\\u000d");
});

test("a line that looks like the head of a file is a line", () => {
  const [file, ...others] = diffOf({ "a.sql": "-- one\n" }, { "a.sql": "++ two\n" });
  expect(others).toEqual([]);
  expect(file?.lines.slice(1).map(({ kind, text }) => [kind, text])).toEqual([
    ["removed", "-- one"],
    ["added", "++ two"],
  ]);
});

test("nothing is changed by an empty diff", () => {
  expect(readDiff("")).toEqual([]);
});
