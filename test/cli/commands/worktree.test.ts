import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { newRepository, type repositoryAt, temporaryFolder } from "../../fakes/repository.ts";
import { makeTaskWorktree } from "../../fakes/task-worktree.ts";
import { serve } from "../../services/http/served.ts";
import { commandHere } from "../command-line.ts";

const TEXT = Array.from({ length: 12 }, (_, line) => `line ${line}\n`);
const text = (line = -1, words = "") => TEXT.map((each, at) => (at === line ? `${words}\n` : each)).join("");

/** Tasks that have ended in worktrees of one project. */
const begin = async () => {
  const served = await serve();
  const project = newRepository({ "a.txt": text(), "sub/b.txt": "b\n" });
  const work = async (
    id: string,
    change: (tree: ReturnType<typeof repositoryAt>) => void,
    facts: { batchId?: string } = {},
  ) => {
    const root = join(served.folder, "worktrees");
    const { paths, tree, worktree } = await makeTaskWorktree(project, root, id, `ses_${id}`);
    change(tree);
    served.source.end(
      served.source.launch({ sessionID: `ses_${id}`, description: "write", worktree, ...facts }).sessionID,
    );
    return paths;
  };
  const run = async (command: string, id: string, ...args: string[]) => {
    const ended = await commandHere([command, id, "--data", served.folder, ...args]);
    // Its first line is about the version of the server, which is another one here.
    return { ...ended, error: ended.error.replace(/^OpenCode runs .*\n/, "") };
  };
  const apply = (id: string, ...args: string[]) => run("apply", id, "--in", project.top, ...args);
  return { served, project, work, run, apply };
};

test("what a task changed is shown before it is applied: as text, as the patch that git takes, and as JSON", async () => {
  const { served, project, work, run } = await begin();
  await work("first1", (tree) => tree.write({ "a.txt": text(1, "\u001b[31mred"), "new.bin": "\0\u0001binary" }));
  const before = project.standing();
  const shown = await commandHere(["diff", "first1", "--data", served.folder], { isInteractive: true });
  expect(shown.out).toContain('Task ses_first1 "write": 2 files changed');
  expect(shown.out).toMatch(/^\+.*red$/m);
  expect(project.standing()).toEqual(before);

  const patch = join(temporaryFolder(), "it.patch");
  writeFileSync(patch, (await run("diff", "first1")).out);
  project.git("apply", patch);
  expect(project.read("a.txt")).toBe(text(1, "\u001b[31mred"));
  expect(project.read("new.bin")).toBe("\0\u0001binary");
  expect(JSON.parse((await run("diff", "first1", "--json")).out)).toMatchObject({
    taskId: "ses_first1",
    files: [{ path: "a.txt" }, { path: "new.bin" }],
    patch: readFileSync(patch, "utf8"),
  });
});

test("there is nothing to show of a task that changed nothing, has no worktree, or whose worktree is gone", async () => {
  const { served, work, run } = await begin();
  await work("nothing", () => undefined);
  expect(await run("diff", "nothing")).toMatchObject({ code: 0, out: "" });
  const screen = await commandHere(["diff", "nothing", "--data", served.folder], { isInteractive: true });
  expect(screen.out).toContain("no file changed");
  const gone = await work("gone", (tree) => tree.write({ "a.txt": text(1, "gone") }));
  await run("discard", "gone", "--yes");
  expect((await run("diff", "gone")).error).toContain(`Its patch is still in ${gone.patch}`);
  served.source.launch({ sessionID: "ses_plain" });
  expect((await run("diff", "plain")).error).toContain("worked in");
});

test("three tasks that wrote in one file are applied one after the other; the third conflicts and changes nothing", async () => {
  const { project, work, apply } = await begin();
  await work("first1", (tree) => tree.write({ "a.txt": text(1, "the first") }));
  await work("second", (tree) => tree.write({ "a.txt": text(10, "the second"), "new.txt": "n\n" }));
  const third = await work("third3", (tree) => tree.write({ "a.txt": text(1, "the third"), "other.txt": "o\n" }));

  const first = await apply("first1");
  expect(first).toMatchObject({ code: 0, error: "" });
  expect(first.out).toBe(`Task ses_first1 "write": 1 file changed (+1 −1) in ${project.top}.\n  "a.txt" +1 −1\n`);
  expect((await apply("second")).out).toContain('  "new.txt" added +1 −0\n');
  const before = [project.standing(), project.read("a.txt")];
  const conflict = await apply("third3");
  expect(conflict).toEqual({
    code: 2,
    out: "",
    error: [
      `Nothing of task ses_third3 "write" was applied: these files were changed in another way in ${project.top}:`,
      "  a.txt (content)",
      ...["<<<<<<< yours", "the first", "=======", "the third", ">>>>>>> the task's"].map((line) => `    ${line}`),
      `Its worktree stays: ${third.tree}`,
      "Change one side so that both agree, or resume the task to have its agent do that. Then apply it again:",
      "  opencode-taskchart apply ses_third3",
      "",
    ].join("\n"),
  });
  expect([project.standing(), project.read("a.txt")]).toEqual(before);
  expect(existsSync(third.tree)).toBe(true);
  expect(JSON.parse((await apply("third3", "--json")).out)).toMatchObject({
    conflicts: [{ path: "a.txt", kind: "content" }],
  });

  // Once the person has made way for it, it is taken too.
  project.write({ "a.txt": project.read("a.txt").replace("the first", "line 1") });
  expect((await apply("third3")).code).toBe(0);
  expect(project.read("a.txt")).toBe(text(1, "the third").replace("line 10", "the second"));
  expect(project.git("worktree", "list").trim().split("\n")).toHaveLength(1);
});

test("several are applied in the order in which they are given, up to the first that conflicts; those after it are left", async () => {
  const { project, work, run, served } = await begin();
  await work("first1", (tree) => tree.write({ "a.txt": text(1, "the first") }));
  const second = await work("second", (tree) => tree.write({ "a.txt": text(1, "the second") }));
  const third = await work("third3", (tree) => tree.write({ "new.txt": "n\n" }));
  const all = ["first1", "second", "third3", "first1"];
  const ended = await commandHere(["apply", ...all, "--data", served.folder, "--in", project.top]);
  expect(ended.code).toBe(2);
  expect(ended.out).toContain("Task ses_first1");
  expect(ended.error).toContain("Nothing of task ses_second");
  expect(ended.error).toMatch(/Not tried after that: ses_third3\.$/m);
  expect(project.read("a.txt")).toBe(text(1, "the first"));
  expect([existsSync(second.tree), existsSync(third.tree), existsSync(project.path("new.txt"))]).toEqual([
    ...[true, true, false],
  ]);

  const json = await commandHere(["apply", "third3", "second", "--json", "--data", served.folder, "--in", project.top]);
  expect(json.code).toBe(2);
  expect(JSON.parse(json.out)).toMatchObject([
    { taskId: "ses_third3", files: [{ path: "new.txt" }] },
    { taskId: "ses_second", conflicts: [{ path: "a.txt" }] },
  ]);
  expect((await run("discard", "second")).out).toContain("is removed");
});

test("all of a batch that nobody has decided about are applied, or discarded after one question", async () => {
  const { project, work, served } = await begin();
  const given = ["--batch", "the batch", "--data", served.folder];
  for (const name of ["one111", "two222"])
    await work(name, (tree) => tree.write({ [`${name}.txt`]: "n\n" }), { batchId: "the batch" });
  await work("other1", (tree) => tree.write({ "other.txt": "n\n" }));
  const applied = await commandHere(["apply", ...given, "--in", project.top, "--json"]);
  expect(JSON.parse(applied.out).map(({ taskId }: { taskId: string }) => taskId)).toEqual(["ses_one111", "ses_two222"]);
  expect(project.read("two222.txt")).toBe("n\n");
  expect(await commandHere(["apply", ...given])).toMatchObject({
    code: 2,
    error: expect.stringContaining("No task of batch the batch has changes to decide about."),
  });
  await work("three3", (tree) => tree.write({ "three.txt": "n\n" }), { batchId: "the batch" });
  await work("four44", (tree) => tree.write({ "four.txt": "n\n" }), { batchId: "the batch" });
  const asked = await commandHere(["discard", ...given], { isInteractive: true });
  expect(asked.out).toMatch(/three\.txt[\s\S]*four\.txt[\s\S]*Discard all 2\? \[y\/N\] \nNothing was removed\./);
  expect((await commandHere(["discard", ...given])).out.match(/is removed/g)).toHaveLength(2);
  expect(await commandHere(["apply"])).toMatchObject({
    code: 2,
    error: expect.stringContaining("Give ids of tasks, or --batch: one of them."),
  });
});

test("from a folder below the top, the whole tree is changed; JSON names the files", async () => {
  const { project, work, run } = await begin();
  await work("below1", (tree) => tree.write({ "a.txt": text(2, "changed"), "sub/b.txt": "changed\n" }));
  const { out } = await run("apply", "below1", "--in", project.path("sub"), "--json");
  expect(JSON.parse(out)).toMatchObject({
    tree: project.top,
    files: [{ path: "a.txt" }, { path: "sub/b.txt", added: 1 }],
  });
  expect(project.read("a.txt")).toBe(text(2, "changed"));
});

test("a folder of another repository is refused, and named is where to go", async () => {
  const { project, work, run } = await begin();
  await work("other1", (tree) => tree.write({ "a.txt": "x" }));
  for (const folder of [newRepository({ "a.txt": "1" }).top, temporaryFolder()]) {
    const { code, error } = await run("apply", "other1", "--in", folder);
    expect(code).toBe(2);
    expect(error).toContain(`Run this in ${project.top}, or name it with --in`);
  }
});

test("discard removes the worktree; its patch stays, and says where it is", async () => {
  const { project, work, run } = await begin();
  const { tree, patch } = await work("thrown", (each) => each.write({ "n.txt": "n\n" }));
  const { code, out } = await run("discard", "thrown");
  expect({ code, out }).toEqual({
    code: 0,
    out: `The worktree of task ses_thrown "write" is removed. Its patch is still in ${patch}\n`,
  });
  expect(existsSync(tree)).toBe(false);
  expect(readFileSync(patch, "utf8")).toContain("n.txt");
  expect(project.git("worktree", "list").trim().split("\n")).toHaveLength(1);
  expect((await run("apply", "thrown")).error).toContain(`Its patch is still in ${patch}`);
});

test("in a terminal discard says what is in it, and asks first", async () => {
  const { served, work } = await begin();
  const { tree } = await work("asked1", (each) => each.write({ "n.txt": "n\n" }));
  const args = ["discard", "asked1", "--data", served.folder];
  const { code, out } = await commandHere(args, { isInteractive: true });
  expect(code).toBe(2);
  expect(out).toContain(
    '1 file changed (+1 −0) in its worktree.\n  "n.txt" added +1 −0\nDiscard it? [y/N] \nNothing was removed.',
  );
  expect(existsSync(tree)).toBe(true);
  await commandHere(args, { isInteractive: true, answer: true });
  expect(existsSync(tree)).toBe(false);
});
