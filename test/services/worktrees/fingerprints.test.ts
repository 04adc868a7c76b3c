import { chmodSync, existsSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createGateComparison, type FilesRead, readFiles } from "../../../src/services/worktrees/fingerprints.ts";
import { readRecord, writeRecord } from "../../../src/services/worktrees/record.ts";
import type { Task } from "../../../src/task.ts";
import { receipt } from "../../fakes/receipt.ts";
import { newRepository, type Repository, temporaryFolder } from "../../fakes/repository.ts";
import { makeTaskWorktree } from "../../fakes/task-worktree.ts";
import { createVirtualClock, settled } from "../../fakes/virtual-clock.ts";

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

describe("the files that a gate saw", () => {
  const ENDED_AT = 1_000;

  /** A task whose gate saw files, and what compares them with those that are read when the test says so. */
  const setUp = () => {
    const clock = createVirtualClock(ENDED_AT);
    const reads: { directory: string; answer(files: FilesRead): void }[] = [];
    const compare = createGateComparison((directory) => {
      const { promise, resolve } = Promise.withResolvers<FilesRead>();
      reads.push({ directory, answer: resolve });
      return promise;
    }, clock);
    const gate = { command: "npm test", runs: 1, exit: 0, end: "exited", files: { fingerprint: "tree1" } } as const;
    const task: Pick<Task, "directory" | "worktree" | "server" | "completedAt" | "receipt"> = {
      directory: "/project",
      completedAt: new Date(ENDED_AT).toISOString(),
      receipt: receipt({ gate }),
    };
    const changed = async (of = task) => (await compare(of)).receipt?.gate?.files?.haveChanged;
    return { clock, reads, changed, task, gate };
  };

  test.each([
    ["tree1", false],
    ["tree2", true],
  ])("are compared with %s, which is there when the receipt is read: changed is %s", async (fingerprint, expected) => {
    const { reads, changed } = setUp();
    const asked = changed();
    reads[0]?.answer({ fingerprint });
    expect(await asked).toBe(expected);
    expect(reads.map(({ directory }) => directory)).toEqual(["/project"]);
  });

  test("are read where the task worked", async () => {
    const { reads, changed, task } = setUp();
    void changed({ ...task, worktree: { id: "w1", directory: "/worktrees/w1/tree", isShared: false } });
    expect(reads.map(({ directory }) => directory)).toEqual(["/worktrees/w1/tree"]);
  });

  test("are read once for all who ask while that is under way, and for two seconds from then on", async () => {
    const { clock, reads, changed } = setUp();
    const both = Promise.all([changed(), changed()]);
    reads[0]?.answer({ fingerprint: "tree1" });
    expect(await both).toEqual([false, false]);
    await clock.advance(1_999);
    expect(await changed()).toBe(false);
    expect(reads).toHaveLength(1);
    await clock.advance(1);
    void changed();
    expect(reads).toHaveLength(2);
  });

  test("are not compared with what was read before the gate had ended", async () => {
    const { clock, reads, changed, task } = setUp();
    const earlier = changed();
    reads[0]?.answer({ fingerprint: "tree2" });
    expect(await earlier).toBe(true);
    await clock.advance(10);
    const later = changed({ ...task, completedAt: new Date(clock.now()).toISOString() });
    expect(reads).toHaveLength(2);
    reads[1]?.answer({ fingerprint: "tree1" });
    expect(await later).toBe(false);
  });

  test("are not waited for longer than three seconds, and what is read then serves whoever asks next", async () => {
    const { clock, reads, changed } = setUp();
    const asked = changed();
    await clock.advance(3_000);
    expect(await asked).toBeUndefined();
    const next = changed();
    reads[0]?.answer({ fingerprint: "tree2" });
    expect(await next).toBe(true);
    expect(reads).toHaveLength(1);
  });

  test("are not compared where they cannot be read, or that would say nothing", async () => {
    const { reads, changed, task, gate } = setUp();
    const asked = changed();
    reads[0]?.answer({ problem: "git failed" });
    expect(await asked).toBeUndefined();
    const { completedAt: _, ...running } = task;
    expect(await changed(running)).toBeUndefined();
    expect(await changed({ ...task, server: { id: "1", label: "other" } })).toBeUndefined();
    expect(await changed({ ...task, receipt: undefined })).toBeUndefined();
    expect(await changed({ ...task, receipt: receipt({ gate: { ...gate, files: { problem: "no git" } } }) })).toBe(
      undefined,
    );
    await settled();
    expect(reads).toHaveLength(1);
  });
});
