import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Commits what is published to the branch `release` of this repository, so that OpenCode can install the plugin from a git
 * URL: it runs no scripts of a package, and so cannot build one (seen in 1.18.33). The working tree stays as it is.
 */

const BRANCH = "release";

/** Puts the files of a packed package into a commit on a branch, without a working tree. Returns the commit. */
export const commitPackage = (repository: string, folder: string, branch: string): string => {
  const index = join(mkdtempSync(join(tmpdir(), "taskchart-release-")), "index");
  const git = (...args: string[]) =>
    execFileSync("git", args, {
      cwd: repository,
      encoding: "utf8",
      env: { ...process.env, GIT_INDEX_FILE: index, GIT_WORK_TREE: folder },
      stdio: ["ignore", "pipe", "pipe"],
    }).trim();

  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  // Where a package has scripts, npm would build it, with packages that are not there.
  const { scripts: _, devDependencies: __, ...published } = manifest;
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(published, undefined, 2)}\n`);
  git("add", "--all", "--force", ".");
  const tree = git("write-tree");
  const parents = git("for-each-ref", "--format=%(objectname)", `refs/heads/${branch}`);
  const parent = parents === "" ? [] : ["-p", parents];
  const commit = git("commit-tree", tree, ...parent, "-m", `Release ${manifest.version}`);
  git("update-ref", `refs/heads/${branch}`, commit);
  rmSync(index, { force: true });
  return commit;
};

/** Packs this package as npm does, which builds it first, and unpacks it. Returns the folder. */
const pack = (repository: string, into: string): string => {
  execFileSync("npm", ["pack", "--silent", "--pack-destination", into], { cwd: repository });
  const [file = ""] = readdirSync(into);
  execFileSync("tar", ["-xzf", join(into, file), "-C", into]);
  return join(into, "package");
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const repository = fileURLToPath(new URL("..", import.meta.url));
  const into = mkdtempSync(join(tmpdir(), "taskchart-pack-"));
  const commit = commitPackage(repository, pack(repository, into), BRANCH);
  rmSync(into, { recursive: true });
  console.log(`The branch ${BRANCH} is at ${commit.slice(0, 7)}. To publish it: git push origin ${BRANCH}`);
}
