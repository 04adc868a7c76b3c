import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  changesBetween,
  entriesBetween,
  headOf,
  holdsCommit,
  isPublished,
  patchedTree,
  repositoriesIn,
  requireCommit,
} from "../../../../src/services/worktrees/git/commit.ts";
import { GitError } from "../../../../src/services/worktrees/git/git.ts";
import { treeAt, withObjects } from "../../../../src/services/worktrees/git/working-tree.ts";
import { newRepository, type Repository, temporaryFolder } from "../../../fakes/repository.ts";

const head = ({ git }: Repository) => git("rev-parse", "HEAD").trim();

/** Commits a file, and returns the commit. */
const commit = (repository: Repository, files: Record<string, string>) => {
  repository.write(files);
  repository.commit();
  return head(repository);
};

/** A clone, and the repository that it was made of. */
const clone = () => {
  const origin = newRepository({ "a.txt": "1\n" });
  const own = newRepository(undefined, join(temporaryFolder(), "clone"));
  own.git("remote", "add", "origin", origin.top);
  own.git("pull", "--quiet", "origin", "main");
  own.git("fetch", "--quiet", "origin");
  return { origin, own };
};

test("a commit is published where a branch of a remote leads to it", async () => {
  const { own } = clone();
  const tree = await treeAt(own.top);
  expect(await isPublished(tree, head(own))).toBe(true);
  expect(await isPublished(tree, commit(own, { "b.txt": "2\n" }))).toBe(false);
});

test("there is no head before the first commit", async () => {
  const project = newRepository();
  expect(await headOf(await treeAt(project.top))).toBeUndefined();
  const first = commit(project, { "a.txt": "1\n" });
  expect(await headOf(await treeAt(project.top))).toBe(first);
});

test("a commit that is missing is fetched, though another remote is away; one that nobody has is not to be had", async () => {
  const { origin, own } = clone();
  const tree = await treeAt(own.top);
  const later = commit(origin, { "later.txt": "l\n" });
  expect(await holdsCommit(tree, later)).toBe(false);
  own.git("remote", "add", "away", "/nowhere/at/all");
  await requireCommit(tree, later);
  expect(await holdsCommit(tree, later)).toBe(true);
  // Nothing is asked of a remote that is not needed.
  own.git("remote", "remove", "origin");
  await requireCommit(tree, later);
  own.git("remote", "remove", "away");
  const nobodys = "0123456789012345678901234567890123456789";
  await expect(requireCommit(tree, nobodys)).rejects.toThrow(GitError);
});

test("where a remote is away, and no other has the commit, the reason is that of the fetch", async () => {
  const { own } = clone();
  own.git("remote", "set-url", "origin", "/nowhere/at/all");
  await expect(requireCommit(await treeAt(own.top), "0123456789012345678901234567890123456789")).rejects.toThrow(
    /'\/nowhere\/at\/all' does not appear to be a git repository/,
  );
});

test("a commit that no branch leads to is asked for by its name", async () => {
  const { origin, own } = clone();
  origin.git("config", "uploadpack.allowAnySHA1InWant", "true");
  const later = commit(origin, { "later.txt": "l\n" });
  origin.git("reset", "--quiet", "--hard", "HEAD~1");
  const tree = await treeAt(own.top);
  await requireCommit(tree, later);
  expect(await holdsCommit(tree, later)).toBe(true);
});

test("a commit of which a file is missing is not there", async () => {
  const project = newRepository({ "a.txt": "1\n" });
  const tree = await treeAt(project.top);
  const object = project.git("rev-parse", "HEAD:a.txt").trim();
  expect(await holdsCommit(tree, head(project))).toBe(true);
  rmSync(project.path(`.git/objects/${object.slice(0, 2)}/${object.slice(2)}`));
  expect(await holdsCommit(tree, head(project))).toBe(false);
});

test("repositories in a commit are named, and nothing else", async () => {
  const project = newRepository({ "a.txt": "1\n", "b\tc/d.txt": "2\n" });
  const tree = await treeAt(project.top);
  expect(await repositoriesIn(tree, head(project))).toEqual([]);
  newRepository({ "v.txt": "v\n" }, project.path("b\tc/vendor"));
  project.git("-c", "advice.addEmbeddedRepo=false", "add", "-A");
  project.git("commit", "--quiet", "-m", "with another");
  expect(await repositoriesIn(tree, head(project))).toEqual(["b\tc/vendor"]);
});

test("differences are listed by path, as what was done and with their lines; a file that is not text has none", async () => {
  const project = newRepository({ "z.txt": "1\n2\n3\n", "gone.txt": "1\n2\n", "kept.txt": "k\n", bytes: "\0\x01" });
  const before = head(project);
  project.git("rm", "--quiet", "gone.txt");
  const after = commit(project, { "z.txt": "1\n3\n4\n5\n", "a\tb.txt": "new\n", bytes: "\0\x02" });
  const [changes, entries] = await withObjects(await treeAt(project.top), async (objects) => [
    await changesBetween(objects, before, after),
    await entriesBetween(objects, before, after),
  ]);
  expect(changes).toEqual([
    { path: "a\tb.txt", change: "added", added: 1, removed: 0 },
    { path: "bytes", change: "modified" },
    { path: "gone.txt", change: "deleted", added: 0, removed: 2 },
    { path: "z.txt", change: "modified", added: 2, removed: 1 },
  ]);
  const object = (at: string, path: string) => project.git("rev-parse", `${at}:${path}`).trim();
  expect(entries[0]).toEqual({
    path: "a\tb.txt",
    from: undefined,
    to: { mode: "100644", object: object(after, "a\tb.txt") },
  });
  expect(entries[2]).toEqual({
    path: "gone.txt",
    from: { mode: "100644", object: object(before, "gone.txt") },
    to: undefined,
  });
});

test("a patch makes a tree of a commit where it fits, white space at the ends of lines included", async () => {
  const project = newRepository({ "a.txt": "1\n" });
  const before = head(project);
  const after = commit(project, { "a.txt": "1 \n\n", "new.txt": "n\n" });
  const patch = join(temporaryFolder(), "changes.patch");
  writeFileSync(patch, project.git("diff", before, after));
  const tree = await treeAt(project.top);
  expect(await withObjects(tree, (objects) => patchedTree(objects, before, patch))).toBe(
    project.git("rev-parse", `${after}^{tree}`).trim(),
  );
  await expect(withObjects(tree, (objects) => patchedTree(objects, after, patch))).rejects.toThrow(
    /new\.txt: already exists in index|a\.txt: patch does not apply|patch failed/,
  );
});
