import { chmodSync, existsSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readFiles } from "../../../src/services/worktrees/fingerprints.ts";
import { readRecord, writeRecord } from "../../../src/services/worktrees/record.ts";
import { newRepository, type Repository, temporaryFolder } from "../../fakes/repository.ts";
import { makeTaskWorktree } from "../../fakes/task-worktree.ts";

const read = async (directory: string, root = "/nowhere/worktrees"): Promise<string> => {
  const files = await readFiles(root, directory);
  if ("problem" in files) throw new Error(files.problem);
  return files.fingerprint;
};

/** Returns the fingerprints before and after something is done. */
const around = async (home: Repository, change: () => void): Promise<[before: string, after: string]> => {
  const before = await read(home.top);
  change();
  return [before, await read(home.top)];
};

describe("a fingerprint of files", () => {
  test.each<[what: string, change: (home: Repository) => void]>([
    ["a file's text", (home) => home.write({ "a.txt": "2" })],
    ["a new file", (home) => home.write({ "new.txt": "" })],
    ["a file that is gone", (home) => rmSync(home.path("a.txt"))],
    ["a file that may be run", (home) => chmodSync(home.path("a.txt"), 0o755)],
    [
      "a link in place of a file",
      (home) => {
        rmSync(home.path("a.txt"));
        symlinkSync("b/c.txt", home.path("a.txt"));
      },
    ],
    ["a file of a repository within it", (home) => home.write({ "inner/d.txt": "2" })],
    ["a file with a filter of the person's", (home) => home.write({ "big.bin": "2" })],
  ])("changes with %s", async (_, change) => {
    const home = newRepository({
      "a.txt": "1",
      "b/c.txt": "1",
      "big.bin": "1",
      ".gitattributes": "*.bin filter=big\n",
    });
    newRepository({ "d.txt": "1" }, home.path("inner"));
    home.git("config", "filter.big.clean", "cat >/dev/null; echo pointer");
    const [before, after] = await around(home, () => change(home));
    expect(after).not.toBe(before);
  });

  test.each<[what: string, change: (home: Repository) => void]>([
    ["what is staged", (home) => home.git("add", "-A")],
    ["what is committed", (home) => home.commit()],
    ["a branch", (home) => home.git("checkout", "--quiet", "-b", "other")],
    ["an ignored file", (home) => home.write({ "out/log": "2" })],
    ["when a file was written", (home) => utimesSync(home.path("big.bin"), 5, 5)],
  ])("does not change with %s", async (_, change) => {
    const home = newRepository({
      "a.txt": "1",
      "big.bin": "1",
      ".gitignore": "out\n",
      ".gitattributes": "*.bin filter=big\n",
    });
    home.git("config", "filter.big.clean", "cat >/dev/null; echo pointer");
    home.commit();
    home.write({ "a.txt": "2", "new.txt": "1", "out/log": "1" });
    const [before, after] = await around(home, () => change(home));
    expect(after).toBe(before);
  });

  test("is taken without a trace in the repository, and by nothing that was written into it", async () => {
    const home = newRepository({ "a.txt": "1", ".gitattributes": "* filter=evil\n" });
    const mark = join(temporaryFolder(), "mark");
    for (const kind of ["clean", "process"]) home.git("config", `filter.evil.${kind}`, `touch ${mark}; cat`);
    home.git("config", "core.fsmonitor", `touch ${mark}`);
    home.write({ "a.txt": "changed", "new.txt": "new", ".git/hooks/post-index-change": `#!/bin/sh\ntouch ${mark}\n` });
    chmodSync(home.path(".git/hooks/post-index-change"), 0o755);
    const objects = () => home.git("-c", "core.fsmonitor=false", "count-objects", "-v");
    const before = objects();
    await read(home.top);
    expect(existsSync(mark)).toBe(false);
    expect(objects()).toBe(before);
  });

  test("of a folder below the top is that of the whole working tree: a command may read all of it", async () => {
    const home = newRepository({ "a.txt": "1", "below/b.txt": "1" });
    expect(await read(home.path("below"))).toBe(await read(home.top));
  });

  test("of a task's worktree is that of its files, whatever its agent made of its .git", async () => {
    const home = newRepository({ "a.txt": "1" });
    const root = temporaryFolder();
    const { tree, paths } = await makeTaskWorktree(home, root);
    const begun = await read(paths.tree, root);
    expect(begun).toBe(await read(home.top));
    tree.write({ "a.txt": "2" });
    expect(await read(paths.tree, root)).not.toBe(begun);
    expect(await read(home.top)).toBe(begun);
    rmSync(tree.path(".git"));
    tree.write({ "a.txt": "1" });
    expect(await read(paths.tree, root)).toBe(begun);
  });

  test.each<
    [what: string, directory: () => Promise<[root: string, directory: string]> | [string, string], why: string]
  >([
    ["no repository", () => ["/nowhere", temporaryFolder()], "the folder in which it ran is in no git repository"],
    ["no folder", () => ["/nowhere", "/nowhere/at/all"], "the folder in which it ran is in no git repository"],
    [
      "a worktree that is gone",
      async () => {
        const root = temporaryFolder();
        const { paths } = await makeTaskWorktree(newRepository({ "a.txt": "1" }), root);
        const record = readRecord(paths);
        if (record) writeRecord(paths, { ...record, gone: { why: "applied", at: 1 } });
        return [root, paths.tree];
      },
      "the folder in which it ran is in no git repository",
    ],
    [
      "an index that git cannot read",
      () => {
        const home = newRepository({ "a.txt": "1" });
        writeFileSync(home.path(".git/index"), "no index");
        return ["/nowhere", home.top];
      },
      "git could not read them: ",
    ],
  ])("is not there for %s, and says why", async (_, where, why) => {
    const [root, directory] = await where();
    expect(await readFiles(root, directory)).toEqual({ problem: expect.stringContaining(why) });
  });
});
