import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cutOffSentence } from "../../../src/services/text/worktree-text.ts";
import {
  applyLeftChanges,
  discardLeftChanges,
  NotDone,
  readLeftChanges,
} from "../../../src/services/worktrees/left-changes.ts";
import { isLocked } from "../../../src/services/worktrees/lock.ts";
import { readChangesIn } from "../../../src/services/worktrees/read-changes.ts";
import { readRecord } from "../../../src/services/worktrees/record.ts";
import { newRepository, type Repository, temporaryFolder } from "../../fakes/repository.ts";
import { AT_REST, worktreeOfTask } from "./worktrees-at-rest.ts";

/** A task that has ended, and wrote a file in its worktree. */
const begin = async (files: Record<string, string> = {}) => {
  const begun = await worktreeOfTask(newRepository({ "a.txt": "1\n" }), join(temporaryFolder(), "worktrees"));
  begun.tree.write({ "a.txt": "2\n", ...files });
  return { ...begun, left: begun.left() };
};

test("while changes are applied, no resume may begin; afterwards the worktree is gone", async () => {
  const { project, paths, left } = await begin();
  const seen: boolean[] = [];
  const isAtWork = async () => {
    seen.push(isLocked(paths, Date.now()));
    return false;
  };
  await applyLeftChanges(left, project.top, { ...AT_REST, isAtWork });
  expect(seen).toEqual([true, true]);
  expect(project.read("a.txt")).toBe("2\n");
  expect(existsSync(paths.tree)).toBe(false);
  expect(readRecord(paths)).toMatchObject({ gone: { why: "applied" } });
  expect(isLocked(paths, Date.now())).toBe(false);
});

test("a task that was resumed just before is left alone, with all that it has", async () => {
  const { project, paths, left } = await begin();
  const asked = applyLeftChanges(left, project.top, { ...AT_REST, isAtWork: async () => true });
  await expect(asked).rejects.toThrow(
    new NotDone('An agent works in the worktree of task ses_1 "write". Wait for its end, or cancel it.'),
  );
  expect(project.read("a.txt")).toBe("1\n");
  expect(existsSync(paths.tree)).toBe(true);
  expect(isLocked(paths, Date.now())).toBe(false);
});

test.each<[string, (tree: Repository) => boolean, string]>([
  ["a run begins", () => true, "an agent works in it again"],
  [
    "nobody can say whether a run has begun",
    () => {
      throw new Error("OpenCode has not answered in time");
    },
    "an agent works in it again",
  ],
  [
    "something is written there",
    (tree) => {
      tree.write({ "late.txt": "late\n" });
      return false;
    },
    "something was changed in it meanwhile",
  ],
])("where %s meanwhile, what was applied counts, and the worktree stays", async (_, happen, stays) => {
  const { project, paths, tree, left } = await begin();
  let asked = 0;
  const isAtWork = async () => {
    asked += 1;
    return asked > 1 && happen(tree);
  };
  const used = await applyLeftChanges(left, project.top, { ...AT_REST, isAtWork });
  expect(used).toMatchObject({ files: [{ path: "a.txt" }], stays });
  expect(project.read("a.txt")).toBe("2\n");
  expect(existsSync(paths.tree)).toBe(true);
  expect(isLocked(paths, Date.now())).toBe(false);
});

test("what somebody else has applied since it was looked at is not discarded, and stays applied", async () => {
  const { project, paths, left } = await begin();
  await applyLeftChanges(left, project.top, AT_REST);
  await expect(discardLeftChanges(left, AT_REST)).rejects.toThrow("has changed in the meantime");
  expect(readRecord(paths)).toMatchObject({ gone: { why: "applied" } });
});

test("two at once: the second is refused, and changes nothing", async () => {
  const { project, left } = await begin();
  const first = applyLeftChanges(left, project.top, AT_REST);
  await expect(discardLeftChanges(left, AT_REST)).rejects.toThrow("are being applied or discarded already");
  await first;
  expect(project.read("a.txt")).toBe("2\n");
});

test("conflicts are named, with what both sides have there, nothing is changed, and the worktree stays", async () => {
  const { project, paths, left } = await begin();
  project.write({ "a.txt": "3\n" });
  const asked = applyLeftChanges(left, project.top, AT_REST);
  const sides = ["<<<<<<< yours", "3", "=======", "2", ">>>>>>> the task's"];
  await expect(asked).rejects.toMatchObject({ conflicts: [{ path: "a.txt", kind: "content", sides }] });
  expect(project.read("a.txt")).toBe("3\n");
  expect(existsSync(paths.tree)).toBe(true);
  expect(isLocked(paths, Date.now())).toBe(false);
});

test("of a conflict that git does not mark in lines, only the name is known; of a long one the beginning is kept", async () => {
  const { project, paths, left } = await begin();
  project.git("rm", "-q", "a.txt");
  await expect(applyLeftChanges(left, project.top, AT_REST)).rejects.toMatchObject({
    conflicts: [{ path: "a.txt", kind: "modify/delete" }],
  });
  const lines = (word: string) => Array.from({ length: 100 }, (_, index) => `${word} ${index}\n`).join("");
  project.write({ "a.txt": lines("mine") });
  writeFileSync(join(paths.tree, "a.txt"), lines("its"));
  const conflict = await applyLeftChanges(left, project.top, AT_REST).catch((error) => error.conflicts[0]);
  expect(conflict.sides).toHaveLength(41);
  expect(conflict.sides.slice(-2)).toEqual(["mine 38", "…"]);
});

/** Applies it up to a step in a process that is gone after that. */
const cutOffBefore = async ({ project, paths, left }: Awaited<ReturnType<typeof begin>>, wanted: string) => {
  const { commit } = await readChangesIn(paths, left.record, left.base);
  const given = { top: project.top, base: left.base, end: commit, journal: paths, killedBefore: wanted };
  const ended = spawnSync(process.execPath, [CHILD, JSON.stringify(given)]);
  expect(ended.signal).toBe("SIGKILL");
};

const CHILD = new URL("git/apply-child.ts", import.meta.url).pathname;

test("applying that was cut off is undone by the next look, which says so, and can be applied then", async () => {
  const begun = await begin({ "b.txt": "b\n" });
  const { project, left } = begun;
  await cutOffBefore(begun, "placing b.txt");
  expect(project.read("a.txt")).toBe("2\n");
  const read = await readLeftChanges(left, Date.now);
  expect(read.cutOff).toMatchObject({ became: "undone", tree: project.top });
  expect(project.read("a.txt")).toBe("1\n");
  const applied = await applyLeftChanges(left, project.top, AT_REST);
  expect(applied).toMatchObject({ cutOff: undefined, stays: undefined, files: [{ path: "a.txt" }, { path: "b.txt" }] });
});

test("applying that was cut off is undone before what the task left is discarded", async () => {
  const begun = await begin({ "b.txt": "b\n" });
  const { project, paths, left } = begun;
  await cutOffBefore(begun, "placing b.txt");
  await expect(discardLeftChanges(left, AT_REST)).resolves.toMatchObject({ cutOff: { became: "undone" } });
  expect(project.read("a.txt")).toBe("1\n");
  expect(existsSync(paths.tree) || existsSync(paths.applying)).toBe(false);
});

test("applying that was cut off once all was in place is finished by the next attempt, which names the files", async () => {
  const begun = await begin();
  const { project, paths, left } = begun;
  await cutOffBefore(begun, "noted");
  const settled = await applyLeftChanges(left, project.top, AT_REST);
  expect(settled).toMatchObject({ cutOff: { became: "finished" }, files: [{ path: "a.txt" }], stays: undefined });
  expect(settled.cutOff && cutOffSentence(settled.cutOff, project.top)).toContain("was cut off, and is finished now.");
  expect(existsSync(paths.tree) || existsSync(paths.applied)).toBe(false);
});

test("a conflict after applying was cut off says what became of that, too", async () => {
  const begun = await begin({ "b.txt": "b\n" });
  const { project, left } = begun;
  await cutOffBefore(begun, "placing b.txt");
  project.write({ "b.txt": "own\n" });
  await expect(applyLeftChanges(left, project.top, AT_REST)).rejects.toThrow(
    /was cut off, and was undone\. Nothing of task .* was applied: these files were changed in another way/,
  );
  expect(project.read("a.txt") + project.read("b.txt")).toBe("1\nown\n");
});

test("a file of a name that git refuses keeps all of it from being applied, and is named", async () => {
  const { project, paths, left } = await begin({ ".GIT/x": "x" });
  await expect(applyLeftChanges(left, project.top, AT_REST)).rejects.toThrow(
    /git takes no files of such names: \.GIT\. Rename or remove them there\.$/,
  );
  expect(project.read("a.txt")).toBe("1\n");
  expect(existsSync(paths.tree)).toBe(true);
});

test("a worktree with what cannot be applied stays when the rest is, until it is discarded", async () => {
  const { project, paths, left } = await begin({ "notes/.gitignore": "*\n", "notes/n.txt": "n\n" });
  newRepository({ "v.txt": "v\n" }, join(paths.tree, "vendor"));
  const settled = await applyLeftChanges(left, project.top, AT_REST);
  expect(settled.leftOut).toEqual([
    { path: "vendor/", why: "repository" },
    { path: "notes/", why: "ignored" },
  ]);
  expect(settled.stays).toBe("it has what was not applied. Look at that, and discard it");
  expect(project.read("vendor/v.txt")).toBe("v\n");
  expect(existsSync(join(paths.tree, "notes/n.txt"))).toBe(true);
  await discardLeftChanges(left, AT_REST);
  expect(existsSync(paths.tree)).toBe(false);
});
