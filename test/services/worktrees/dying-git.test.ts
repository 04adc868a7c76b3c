/** @module-tag nightly */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDyingGit, type DyingGit, whyGitCannotDie } from "../../fakes/dying-git.ts";
import { temporaryFolder } from "../../fakes/repository.ts";
import { isNightly } from "../../nightly.ts";
import { play, plays } from "./git-plays.ts";

/** The first moment at which git is killed. Without `NIGHTLY=1` it is the only one: another one on Bun. */
const FIRST = isNightly ? 1 : process.versions.bun ? 37 : 56;

describe.skipIf(whyGitCannotDie)(
  `git is killed (${(whyGitCannotDie ?? isNightly) ? "at every moment" : "at one moment"})`,
  () => {
    let git: DyingGit;
    let folder: string;
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), "taskchart-dying-git-"));
      git = createDyingGit(folder);
    });
    afterAll(() => rmSync(folder, { recursive: true, force: true }));

    test.each(Object.entries(plays))("while %s", { timeout: 3_600_000 }, async (_, begin) => {
      for (let at = FIRST; ; at += 1) {
        let moments: string[] = [];
        await play(begin, temporaryFolder(), async (act, temporary) => {
          const during = await git.during(at, temporary, act);
          moments = during.moments;
          return during.result;
        }).catch((cause) => {
          throw new Error(`git was killed at moment ${at}: ${moments.slice(0, at).slice(-3).join(", ")}`, { cause });
        });
        expect(moments).not.toEqual([]);
        if (!isNightly || moments.length < at) break;
      }
    });
  },
);
