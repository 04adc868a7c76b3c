import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { vi } from "vitest";
import { findProgram } from "./installed-program.ts";

const SOURCE = fileURLToPath(new URL("dying-git.c", import.meta.url));

const git = findProgram((process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, "git")));

/** Why git cannot be killed at a moment of choice here; undefined where it can. */
export const whyGitCannotDie =
  process.platform === "linux" && git !== undefined && spawnSync("cc", ["--version"]).status === 0
    ? undefined
    : "git is killed by a library that is loaded into it: it takes Linux, and a C compiler (cc)";

/** The real git, which is killed at one moment of all its calls. */
export interface DyingGit {
  /**
   * Does `work`, in which git is killed with all that it has started at the moment of that number, from 1; 0: never. Returns all
   * moments that were reached.
   * @param temporary the folder of temporary files meanwhile
   */
  during<T>(at: number, temporary: string, work: () => Promise<T>): Promise<{ result: T; moments: string[] }>;
}

/** Prepares git for being killed. Other tests of the same process must not run meanwhile. */
export const createDyingGit = (folder: string): DyingGit => {
  const library = join(folder, "dying-git.so");
  execFileSync("cc", ["-shared", "-fPIC", "-o", library, SOURCE, "-ldl"]);
  writeFileSync(join(folder, "git"), `#!/bin/sh\nLD_PRELOAD='${library}' exec '${git}' "$@"\n`, { mode: 0o755 });
  const log = join(folder, "moments");
  return {
    during: async (at, temporary, work) => {
      rmSync(log, { force: true });
      vi.stubEnv("PATH", folder + delimiter + process.env.PATH);
      vi.stubEnv("TMPDIR", temporary);
      vi.stubEnv("DYING_LOG", log);
      vi.stubEnv("DYING_AT", String(at));
      try {
        const result = await work();
        const lines = existsSync(log) ? readFileSync(log, "utf8").trimEnd().split("\n") : [];
        return { result, moments: lines.map((line) => line.trimEnd()) };
      } finally {
        vi.unstubAllEnvs();
      }
    },
  };
};
