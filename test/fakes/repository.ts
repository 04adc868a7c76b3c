import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { withoutLocations } from "../../src/services/worktrees/git/git.ts";

/** A git repository in a temporary folder, with what tests do to it. */
export interface Repository {
  top: string;
  path(name: string): string;
  write(files: Record<string, string>): void;
  read(name: string): string;
  /** Runs git in it, and returns what it printed. */
  git(...args: string[]): string;
  /** Commits everything. */
  commit(): void;
  /** All that a snapshot must leave alone, as one text. */
  standing(): string;
}

/** Makes a temporary folder, which is removed at the test's end. Its path has no symbolic link. */
export const temporaryFolder = (): string => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "taskchart-trees-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

/** Takes over a folder as a repository, which it may be already. */
export const repositoryAt = (top: string): Repository => {
  const git = (...args: string[]): string =>
    execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...args], {
      cwd: top,
      encoding: "utf8",
      env: withoutLocations(),
      stdio: ["ignore", "pipe", "pipe"],
    });
  const path = (name: string) => join(top, name);
  const refs = () => git("for-each-ref") + git("stash", "list");
  return {
    top,
    path,
    write: (files) => {
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(dirname(path(name)), { recursive: true });
        writeFileSync(path(name), text);
      }
    },
    read: (name) => readFileSync(path(name), "utf8"),
    git,
    commit: () => {
      git("add", "-A");
      git("commit", "--quiet", "--allow-empty", "-m", "work");
    },
    standing: () =>
      [git("status", "--porcelain=v2", "--branch", "-uall"), git("ls-files", "--stage"), refs()].join("\n"),
  };
};

/** Makes a repository with these files, committed. Without files it has no commit. */
export const newRepository = (files?: Record<string, string>, top = temporaryFolder()): Repository => {
  mkdirSync(top, { recursive: true });
  const repository = repositoryAt(top);
  repository.git("init", "--quiet", "-b", "main");
  if (files) {
    repository.write(files);
    repository.commit();
  }
  return repository;
};
