import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { type Applied, applyChanges, type FileChange } from "../../../../src/services/worktrees/git/apply-changes.ts";
import { changesBetween } from "../../../../src/services/worktrees/git/commit.ts";
import { takeSnapshot, takeTaskSnapshot } from "../../../../src/services/worktrees/git/snapshot.ts";
import { addWorktree, treeAt, withObjects } from "../../../../src/services/worktrees/git/working-tree.ts";
import { type Repository, repositoryAt, temporaryFolder } from "../../../fakes/repository.ts";

/** Makes a worktree of a repository as it stands. */
export const branchOff = async (home: Repository, folder = temporaryFolder()) => {
  const source = await treeAt(home.top);
  const { commit: base } = await takeSnapshot(source);
  const path = join(folder, "tree");
  const own = await addWorktree(source, path, base);
  const snapshot = () => takeTaskSnapshot(own, source);
  const end = async () => (await snapshot()).commit;
  const journal = { applying: join(folder, "applying.json"), applied: join(folder, "applied.json") };
  const changes = async () => {
    const commit = await end();
    return withObjects(own, (objects) => changesBetween(objects, base, commit));
  };
  return { ...repositoryAt(path), base, own, source, journal, snapshot, end, changes };
};

/** A worktree of a repository. */
export type Tree = Awaited<ReturnType<typeof branchOff>>;

/** Applies what changed in a worktree to the repository's own tree. */
export const apply = async (
  home: Repository,
  { base, end, journal }: Tree,
  options: Pick<FileChange, "onStep"> = {},
): Promise<Applied> => applyChanges(await treeAt(home.top), { base, end: await end(), journal, ...options });

/** Returns all that is in a tree of files, but for its git directory: each file's mode and bytes. */
export const treeOfFiles = (top: string, below = ""): string[] =>
  readdirSync(join(top, below), { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(below, entry.name);
      if (path === ".git") return [];
      if (entry.isDirectory()) return [`${path}/`, ...treeOfFiles(top, path)];
      const text = entry.isSymbolicLink() ? readlinkSync(join(top, path)) : readFileSync(join(top, path), "latin1");
      return [`${path} ${lstatSync(join(top, path)).mode.toString(8)} ${text}`];
    })
    .sort();
