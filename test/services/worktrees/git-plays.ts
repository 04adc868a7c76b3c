import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Outcome } from "../../../src/services/platform/result.ts";
import { pathsOf } from "../../../src/services/worktrees/folders.ts";
import { applyLeftChanges, discardLeftChanges } from "../../../src/services/worktrees/left-changes.ts";
import { readRecord } from "../../../src/services/worktrees/record.ts";
import { newRepository, type Repository } from "../../fakes/repository.ts";
import { treeOfFiles } from "./git/branch-off.ts";
import { AT_REST, signal, worktreeOfTask, worktreesAtRest } from "./worktrees-at-rest.ts";

/*
 * What is done with worktrees, each with what must hold when git or the disk failed in it, whenever that was: the person's files,
 * index and branches are as they were, or all is done; nothing is left that is in anybody's way; and the next try succeeds.
 */

/** A person's project, of which a part is staged and a file is new, with a filter; and where its tasks' worktrees are. */
const begin = async (folder: string) => {
  const project = newRepository(undefined, join(folder, "project"));
  for (const way of ["clean", "smudge"]) project.git("config", `filter.rot.${way}`, "tr a-z n-za-m");
  project.write({ "a.txt": "1\n", "gone.txt": "g\n", "below/b.txt": "b\n", "dull.rot": "r\n" });
  project.write({ ".gitattributes": "*.rot filter=rot\n", ".gitignore": "*.log\n" });
  project.commit();
  project.write({ "staged.txt": "s\n" });
  project.git("add", "staged.txt");
  project.write({ "new.txt": "n\n" });
  const root = join(folder, "worktrees");
  const temporary = join(folder, "tmp");
  mkdirSync(temporary);
  const worktrees = worktreesAtRest(root);
  return { project, temporary, root, worktrees, paths: pathsOf(root, "w1"), files: treeOfFiles(project.top) };
};
type Begun = Awaited<ReturnType<typeof begin>>;

const make = ({ worktrees, project }: Begun) =>
  worktrees.make({ directory: project.top, project: project.top, signal });

/** The same with a task that has ended, and what it changed in its worktree. */
const beginWithTask = async (folder: string, files: Record<string, string> = CHANGED) => {
  const begun = await begin(folder);
  const of = await worktreeOfTask(begun.project, begun.root);
  of.tree.write(files);
  if (files === CHANGED) rmSync(of.tree.path("gone.txt"));
  return { ...begun, ...of, changed: treeOfFiles(of.tree.top) };
};
type WithTask = Awaited<ReturnType<typeof beginWithTask>>;
const CHANGED = { "a.txt": "2\n", "below/new/c.txt": "c\n", "dull.rot": "d\n" };
const PATHS = ["a.txt", "below/new/c.txt", "dull.rot", "gone.txt"];

/** What may fail, and what must hold whenever it has. */
export interface Play {
  begun: Begun;
  /** Returns or throws why it was not done. */
  act(): Promise<unknown>;
  /** Looks at all right after it was not done. Then it is done again, and nothing fails. */
  checkFailed?(reason: string): void;
  /** Looks at all once it is done. */
  check(): Promise<void>;
  /** What the person's files are in the end. Default: as before. */
  files?: string[];
  /** The lock of a branch of a remote. Default: no lock is left. */
  mayLeave?: string;
}

const outcome = (outcome: Outcome<unknown>) => {
  if (!outcome.ok) throw new Error(outcome.reason);
};

const count = async ({ worktrees, task }: WithTask) => {
  const counted = await worktrees.countAgain(task);
  if (counted?.problem !== undefined) throw new Error(counted.problem);
};

const pathsOfChanges = (files: readonly { path: string }[] = []) => files.map(({ path }) => path);

/** The changes of a worktree that is there are counted. */
const checkCounted = async ({ worktrees, task }: WithTask) => {
  assert.deepEqual(pathsOfChanges(worktrees.changesOf(task)?.files), PATHS);
  await worktrees.remove("w1");
};

/** A worktree is gone, or goes as the sweep does with one whose removal was cut off; its patch can be applied where `hasPatch`. */
const checkGone = async ({ worktrees, paths, project }: Begun, hasPatch: boolean) => {
  if (existsSync(paths.tree)) await worktrees.expire("w1");
  assert.ok(!existsSync(paths.tree));
  if (hasPatch) project.git("apply", "--check", paths.patch);
};

/** By what is done. `folder` is where everything of the play is. */
export const plays: Record<string, (folder: string) => Promise<Play>> = {
  "a worktree is made for a launch": async (folder) => {
    const begun = await begin(folder);
    return {
      begun,
      act: async () => outcome(await make(begun)),
      checkFailed: () => {
        assert.ok(!existsSync(begun.paths.folder));
        assert.deepEqual(entriesOf(begun), []);
      },
      check: async () => {
        assert.deepEqual(treeOfFiles(begun.paths.tree), begun.files);
        await begun.worktrees.remove("w1");
      },
    };
  },

  "the changes of a run are counted": async (folder) => {
    const begun = await beginWithTask(folder);
    return {
      begun,
      act: () => count(begun),
      checkFailed: () => assert.ok(begun.worktrees.undecidedChanges(begun.task)?.problem),
      check: async () => {
        assert.deepEqual(treeOfFiles(begun.tree.top), begun.changed);
        begun.project.git("apply", "--check", begun.paths.patch);
        await checkCounted(begun);
      },
    };
  },

  "a run that changed nothing is counted, and its worktree goes": async (folder) => {
    const begun = await beginWithTask(folder, {});
    return {
      begun,
      act: () => count(begun),
      check: async () => {
        await checkGone(begun, false);
        assert.deepEqual(begun.worktrees.changesOf(begun.task)?.files, []);
      },
    };
  },

  "changes are applied": async (folder) => {
    const begun = await beginWithTask(folder);
    const { left, project, files, changed, tree } = begun;
    return {
      begun,
      act: () => applyLeftChanges(left(), project.top, AT_REST),
      checkFailed: () => {
        assert.deepEqual(treeOfFiles(project.top), files);
        assert.deepEqual(treeOfFiles(tree.top), changed);
      },
      check: async () => {
        assert.deepEqual(treeOfFiles(project.top), changed);
        await checkGone(begun, false);
      },
      files: changed,
    };
  },

  "changes are discarded": async (folder) => {
    const begun = await beginWithTask(folder);
    return {
      begun,
      act: () => discardLeftChanges(begun.left("discard"), AT_REST),
      checkFailed: () => assert.deepEqual(treeOfFiles(begun.tree.top), begun.changed),
      check: () => checkGone(begun, true),
    };
  },

  "a worktree goes that was kept for long enough": async (folder) => {
    const begun = await beginWithTask(folder);
    return {
      begun,
      act: () => begun.worktrees.expire("w1"),
      checkFailed: () => assert.deepEqual(treeOfFiles(begun.tree.top), begun.changed),
      check: async () => {
        assert.ok(!existsSync(begun.paths.tree));
        await checkGone(begun, true);
      },
    };
  },

  "a worktree is made again with its changes, for a resume": async (folder) => {
    const begun = await beginWithTask(folder);
    const { worktrees, task, changed, paths, tree, project } = begun;
    await worktrees.countAgain(task);
    await worktrees.expire("w1");
    return {
      begun,
      act: async () => outcome(await worktrees.prepare(task, signal)),
      checkFailed: () => {
        project.git("apply", "--check", paths.patch);
        assert.deepEqual(pathsOfChanges(worktrees.undecidedChanges(task)?.files), PATHS);
      },
      check: async () => {
        assert.deepEqual(treeOfFiles(tree.top), changed);
        await count(begun);
        await checkCounted(begun);
      },
    };
  },

  "a worktree is made again from a person's files, for a resume": async (folder) => {
    const begun = await beginWithTask(folder);
    const { worktrees, task, files, tree } = begun;
    await discardLeftChanges(begun.left("discard"), AT_REST);
    return {
      begun,
      act: async () => outcome(await worktrees.prepare(task, signal)),
      check: async () => {
        assert.deepEqual(treeOfFiles(tree.top), files);
        await worktrees.remove("w1");
      },
    };
  },

  "a worktree is made of what another server has changed": async (folder) => {
    const begun = await beginWithTask(folder);
    const { worktrees, task, project, paths } = begun;
    await worktrees.countAgain(task);
    const patch = readFileSync(paths.patch);
    const commit = readRecord(paths)?.base ?? "";
    await worktrees.remove("w1");
    const given = { id: "w2", task, directory: project.top, commit, patch, before: undefined };
    const kept = pathsOf(begun.root, "w2");
    return {
      begun,
      act: async () => outcome(await worktrees.receive(given)),
      checkFailed: (reason) =>
        assert.equal(reason.includes("the patch is in"), existsSync(kept.received) || existsSync(kept.patch)),
      check: async () => {
        assert.deepEqual(treeOfFiles(kept.tree), begun.changed);
        await worktrees.remove("w2");
      },
    };
  },

  "a worktree is made of a commit that is fetched": async (folder) => {
    const begun = await begin(folder);
    const { project, worktrees, paths } = begun;
    const origin = newRepository(undefined, join(folder, "origin"));
    origin.git("pull", "--quiet", project.top, "main");
    project.git("remote", "add", "origin", origin.top);
    project.git("fetch", "--quiet", "origin");
    const later = (name: string) => {
      origin.write({ [name]: "l\n" });
      origin.commit();
      return origin.git("rev-parse", "HEAD").trim();
    };
    const makeAt = async (commit: string) =>
      outcome(await worktrees.make({ directory: project.top, project: project.top, signal, commit }));
    const commit = later("later.txt");
    const check = async (name: string) => {
      assert.ok(existsSync(join(paths.tree, name)));
      await worktrees.remove("w1");
    };
    return {
      begun,
      act: () => makeAt(commit),
      check: async () => {
        await check("later.txt");
        await makeAt(later("latest.txt"));
        await check("latest.txt");
      },
      // Git itself says of it what it is, and that it may be removed.
      mayLeave: "refs/remotes/origin/main.lock",
    };
  },

  "the worktree of a task goes that is cleared": async (folder) => {
    const begun = await beginWithTask(folder);
    return {
      begun,
      act: () => begun.worktrees.remove("w1"),
      check: async () => assert.ok(!existsSync(begun.paths.folder)),
    };
  },
};

/**
 * What git knows of worktrees. A git that was killed in making one may leave an empty folder there, or one with an empty file: it
 * knows of no worktree by that, and nobody can say whose it is.
 */
const entriesOf = ({ project }: Begun): string[] => {
  const entries = project.path(".git/worktrees");
  const says = (name: string) =>
    readdirSync(join(entries, name)).some((file) => statSync(join(entries, name, file)).size > 0);
  return existsSync(entries) ? readdirSync(entries).filter(says) : [];
};

/** Files that keep git from working, and those of ours that are to be gone. */
const leftovers = ({ begun: { project, temporary }, mayLeave }: Play): string[] => [
  ...(readdirSync(project.path(".git"), { recursive: true }) as string[]).filter(
    (path) => /\.lock$|^\.taskchart/.test(path) && path !== mayLeave,
  ),
  ...readdirSync(temporary),
];

/** What belongs to the person in the repository, beside files. */
const indexAndBranches = ({ git }: Repository): string =>
  [
    ["ls-files", "--stage"],
    ["symbolic-ref", "HEAD"],
    ["for-each-ref", "refs/heads", "refs/tags"],
    ["stash", "list"],
  ]
    .map((args) => git(...args))
    .join("\n");

/**
 * Plays one of them in a folder. `failing` does what it is given while something fails, and returns when nothing does any more.
 * @throws AssertionError where something does not hold
 */
export const play = async (
  begin: (folder: string) => Promise<Play>,
  folder: string,
  failing: (act: () => Promise<string | undefined>, temporary: string) => Promise<string | undefined>,
): Promise<void> => {
  const played = await begin(folder);
  const { begun, act, checkFailed, check, files = begun.files } = played;
  const { project, temporary } = begun;
  const standing = indexAndBranches(project);
  const acting = () =>
    act().then(
      () => undefined,
      (error) => String(error),
    );
  const failed = await failing(acting, temporary);
  assert.deepEqual(leftovers(played), []);
  if (failed !== undefined) {
    checkFailed?.(failed);
    await act();
  }
  await check();
  assert.deepEqual(treeOfFiles(project.top), files);
  assert.deepEqual(indexAndBranches(project), standing);
  assert.deepEqual(leftovers(played), []);
  assert.deepEqual(entriesOf(begun), []);
};
