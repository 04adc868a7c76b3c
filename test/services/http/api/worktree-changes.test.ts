import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Changes } from "../../../../src/services/http/contract/api-task.ts";
import { newRepository } from "../../../fakes/repository.ts";
import { makeTaskWorktree } from "../../../fakes/task-worktree.ts";
import { serve } from "../served.ts";

/** Tasks that have ended in worktrees of one project, and what the API says of them. */
const begin = async () => {
  const served = await serve();
  const project = newRepository({ "a.txt": "1\n" });
  const work = async (id: string, files: Record<string, string>) => {
    const root = join(served.folder, "worktrees");
    const { paths, tree, worktree } = await makeTaskWorktree(project, root, id, `ses_${id}`);
    tree.write(files);
    served.source.end(served.source.launch({ sessionID: `ses_${id}`, description: "write", worktree }).sessionID);
    return paths;
  };
  const ask = async (id: string, action: "changes" | "apply" | "discard") => {
    const response = await served.fetch(`/v1/tasks/ses_${id}/${action}`, {
      method: action === "changes" ? "GET" : "POST",
      headers: { authorization: `Bearer ${served.server.token}` },
    });
    return { status: response.status, body: await response.json() };
  };
  return { served, project, work, ask };
};

test("what a task left is read, applied to the tree that it came from, and said to be applied then", async () => {
  const { project, work, ask } = await begin();
  const { tree, patch } = await work("one", { "a.txt": "2\n" });
  const files = [{ path: "a.txt", change: "modified", added: 1, removed: 1 }];
  const left = { tree: project.top, worktree: tree, patch, files };
  const diff = expect.stringMatching(/^diff --git a\/a\.txt b\/a\.txt\n[\s\S]*\n-1\n\+2\n$/);
  expect(await ask("one", "changes")).toEqual({ status: 200, body: { ...left, diff } });
  expect(await ask("one", "apply")).toEqual({ status: 200, body: { ...left, became: "applied" } });
  expect(project.read("a.txt")).toBe("2\n");
  expect(existsSync(tree)).toBe(false);
  expect((await ask("one", "changes")).body).toMatchObject({ became: "applied", diff });
  expect(await ask("one", "apply")).toMatchObject({
    status: 409,
    body: { error: expect.stringMatching(/has no worktree any more, since .*: its changes were applied\./) },
  });
});

test("of more than half a million characters, the whole files are sent that fit", async () => {
  const { work, ask } = await begin();
  const text = (word: string, lines: number) => `${word}\n`.repeat(lines);
  const { patch } = await work("long", { "a.txt": text("a", 1_000), "b.txt": text("b", 200_000), "c.txt": "c\n" });
  const { diff, isDiffCut } = Changes.parse((await ask("long", "changes")).body);
  expect(isDiffCut).toBe(true);
  expect(readFileSync(patch, "utf8").startsWith(`${diff}diff --git a/b.txt`)).toBe(true);
  expect(diff).toContain("a/a.txt");
});

test("a conflict is a 409 that shows both sides; discarded, the worktree is gone", async () => {
  const { project, work, ask } = await begin();
  const { tree } = await work("two", { "a.txt": "2\n" });
  project.write({ "a.txt": "3\n" });
  expect(await ask("two", "apply")).toEqual({
    status: 409,
    body: {
      status: 409,
      error: [
        `Nothing of task ses_two "write" was applied: these files were changed in another way in ${project.top}:`,
        "  a.txt (content)",
        ...["<<<<<<< yours", "3", "=======", "2", ">>>>>>> the task's"].map((line) => `    ${line}`),
        `Its worktree stays: ${tree}`,
        "Change one side so that both agree, or resume the task to have its agent do that. Then apply it again:",
        "  opencode-taskchart apply ses_two",
      ].join("\n"),
    },
  });
  expect(existsSync(tree)).toBe(true);
  expect(await ask("two", "discard")).toMatchObject({ status: 200, body: { became: "discarded" } });
  expect(existsSync(tree)).toBe(false);
  expect(project.read("a.txt")).toBe("3\n");
});

test("what an agent works in is not applied: a task below may have been resumed in the same worktree", async () => {
  const { served, project, work, ask } = await begin();
  const { tree } = await work("three", { "a.txt": "2\n" });
  const worktree = { id: "three", directory: tree, isShared: true };
  const below = served.source.launch({ sessionID: "ses_below", parentTaskId: "ses_three", worktree });
  expect(await ask("three", "apply")).toMatchObject({
    status: 409,
    body: { error: 'An agent works in the worktree of task ses_three "write". Wait for its end, or cancel it.' },
  });
  expect(project.read("a.txt")).toBe("1\n");
  served.source.end(below.sessionID);
  expect(await ask("three", "apply")).toMatchObject({ status: 200 });
});

test("a task that still runs, and one without a worktree, are a 409", async () => {
  const { served, ask } = await begin();
  const worktree = { id: "x", directory: "/x", isShared: false };
  served.source.launch({ sessionID: "ses_runs", worktree });
  expect(await ask("runs", "apply")).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining("still runs") },
  });
  served.source.end(served.source.launch({ sessionID: "ses_plain", directory: "/shop" }).sessionID);
  expect(await ask("plain", "changes")).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining("worked in /shop itself") },
  });
});
