import { existsSync } from "node:fs";
import { copyFile, symlink } from "node:fs/promises";
import { join } from "node:path";

/** What OpenCode keeps in a project's `.opencode` beside the packages that it installs there. Git ignores all of it. */
const LISTS = [".gitignore", "package.json", "package-lock.json", "bun.lock"];

/**
 * Shares the packages that OpenCode has installed in a project's `.opencode` with a worktree. Without them it would install
 * them there when it opens the worktree, and wait: for seconds, and without a network for as long as it tries (measured).
 * @returns true where there was something to share
 */
export const sharePackages = async (source: string, tree: string): Promise<boolean> => {
  const [from, to] = [join(source, ".opencode"), join(tree, ".opencode")];
  const packages = join(from, "node_modules");
  if (!existsSync(to) || !existsSync(packages) || existsSync(join(to, "node_modules"))) return false;
  await symlink(packages, join(to, "node_modules"), "dir");
  for (const name of LISTS) {
    if (existsSync(join(from, name)) && !existsSync(join(to, name))) await copyFile(join(from, name), join(to, name));
  }
  return true;
};
