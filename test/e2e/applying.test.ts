import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { opencodeTaskchart } from "../cli/command-line.ts";
import { newRepository, type Repository } from "../fakes/repository.ts";
import { newHome, removeHome } from "./lab/home.ts";
import { type Lab, startLab } from "./lab/lab.ts";
import { calls, text } from "./lab/reply.ts";
import { childOf, inChild, launching, notified } from "./tasks-and-notices.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

let home: string;
let lab: Lab;
let project: Repository;

beforeEach(async () => {
  home = await newHome();
  mkdirSync(join(home, "project"));
  const many = Array.from({ length: 150 }, (_, at) => [`many/${at}.txt`, `${at}\n`]);
  project = newRepository(
    { "lib/a.txt": "one\n", "x/lib/a.txt": "one\n", ...Object.fromEntries(many) },
    join(home, "project"),
  );
  lab = await startLab({ home });
});

afterEach(async () => {
  await lab.stop();
  await removeHome(home);
});

const data = () => join(home, "data", "opencode-taskchart");

const tree = () => {
  const [id = ""] = readdirSync(join(data(), "worktrees"));
  return join(data(), "worktrees", id, "tree");
};

const bash = (command: string) => ({ name: "bash", args: { command, description: "works" } });

const write = (filePath: string, content: string) => ({ name: "write", args: { filePath, content } });

/** Has a task work in a worktree to its end. Returns its id, and what its parent is told of that. */
const work = async (prompt: string, steps: ReturnType<typeof calls>[]) => {
  const parent = await lab.session();
  lab.model.when(inChild(prompt), [...steps, text("Done.")]);
  lab.model.when(`launch ${prompt}`, [calls([launching(prompt, { worktree: true })]), text("launched")]);
  await lab.ask(parent, `launch ${prompt}`);
  const task = await childOf(lab, prompt);
  const [notice] = await notified(lab, parent, [task]);
  return { task, told: notice?.hidden ?? "" };
};

const applied = (task: string, env: Record<string, string> = {}) =>
  opencodeTaskchart(["apply", task, "--in", project.top, "--data", data()], env);

test("with diff.noprefix and a diff program in a person's configuration, each file is applied where the task changed it", async () => {
  const GIT_CONFIG_GLOBAL = join(home, "gitconfig");
  const settings = { "diff.noprefix": "true", "diff.external": "/bin/false", "core.fileMode": "false" };
  for (const [name, value] of Object.entries(settings)) project.git("config", "--file", GIT_CONFIG_GLOBAL, name, value);
  await lab.restart({ env: { GIT_CONFIG_GLOBAL } });
  const { task, told } = await work("write it", [
    calls([bash("echo two > x/lib/a.txt; mkdir x/new; echo n > x/new/n.txt; chmod +x many/1.txt")]),
  ]);
  expect(told).toContain('- "many/1.txt" +0 −0\n- "x/lib/a.txt" +1 −1\n- "x/new/n.txt" added +1 −0');
  expect(await applied(task, { GIT_CONFIG_GLOBAL })).toMatchObject({ code: 0 });
  expect(project.read("x/lib/a.txt") + project.read("lib/a.txt") + project.read("x/new/n.txt")).toBe("two\none\nn\n");
  expect(existsSync(project.path("new"))).toBe(false);
  expect(existsSync(tree())).toBe(false);
});

test("an agent that may edit and run nothing runs nothing by a git directory of its own", async () => {
  await lab.restart({ config: { permission: { bash: "deny", edit: "allow" } } });
  const mark = join(home, "ran");
  const program = join(home, "program");
  writeFileSync(program, `#!/bin/sh\ntouch ${mark}\ncat\n`);
  chmodSync(program, 0o755);
  const filter = `[filter "evil"]\n\tclean = ${program}\n\tsmudge = ${program}\n`;
  const { task, told } = await work("take over", [
    calls([{ name: "read", args: { filePath: ".git" } }]),
    calls([
      write("evil/HEAD", "ref: refs/heads/main\n"),
      write("evil/objects/keep", "1\n"),
      write("evil/refs/keep", "1\n"),
      write("evil/config", `[core]\n\trepositoryformatversion = 0\n${filter}`),
      write(".gitattributes", "* filter=evil\n"),
      write(".git", "gitdir: evil\n"),
      write("made.txt", "made\n"),
    ]),
  ]);
  expect(told).toContain('"made.txt" added +1 −0');
  expect(told).toContain('".gitattributes" added +1 −0');
  expect(await applied(task)).toMatchObject({ code: 0 });
  expect(project.read("made.txt")).toBe("made\n");
  expect(existsSync(mark)).toBe(false);
  expect(existsSync(tree())).toBe(false);
  expect(project.git("worktree", "list").trim().split("\n")).toHaveLength(1);
});

test("the files of a repository that an agent made are told and applied, and its worktree stays for the rest", async () => {
  const commit = "git add -A && git -c user.name=a -c user.email=a@example.org commit -qm v";
  const { task, told } = await work("vendor it", [
    calls([bash(`git init -q vendor && cd vendor && echo v > v.txt && ${commit}`)]),
  ]);
  expect(told).toContain('"vendor/v.txt" added +1 −0');
  expect(told).toContain('Not among the changes: the history of "vendor/", a repository');
  const { code, out } = await applied(task);
  expect(code).toBe(0);
  expect(out).toContain("The worktree stays: it has what was not applied. Look at that, and discard it.");
  expect(project.read("vendor/v.txt")).toBe("v\n");
  expect(existsSync(join(tree(), "vendor/.git"))).toBe(true);
});

test("a command that is killed while it applies leaves nothing half done to the next one", async () => {
  const { task } = await work("change all", [
    calls([bash('for f in many/*.txt; do echo changed > "$f"; done; rm -r x; mkdir made; echo m > made/m.txt')]),
  ]);
  const isWhole = () => project.git("status", "--porcelain").trim() === "";
  const watched = watch(project.path("many"));
  const command = spawn(process.execPath, [MAIN, "apply", task, "--in", project.top, "--data", data()]);
  await once(watched, "change");
  command.kill("SIGKILL");
  await once(command, "close");
  watched.close();
  expect(isWhole()).toBe(false);
  const next = await applied(task);
  expect(next).toMatchObject({ code: 0, error: "" });
  expect(next.out).toMatch(
    /An earlier attempt to apply the changes to .* was cut off, and (was undone|is finished now)\./,
  );
  const texts = readdirSync(project.path("many")).map((name) => project.read(`many/${name}`));
  expect(texts).toEqual(Array.from({ length: 150 }, () => "changed\n"));
  expect(project.read("made/m.txt")).toBe("m\n");
  expect(existsSync(project.path("x")) || existsSync(tree())).toBe(false);
  expect(readdirSync(project.path(".git")).filter((name) => name.startsWith(".taskchart"))).toEqual([]);
});
