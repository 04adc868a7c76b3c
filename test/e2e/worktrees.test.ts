import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { opencodeTaskchart } from "../cli/command-line.ts";
import { newRepository, type Repository } from "../fakes/repository.ts";
import { newHome, removeHome } from "./lab/home.ts";
import { type Lab, startLab } from "./lab/lab.ts";
import { lastUserText, toolResults } from "./lab/model-request.ts";
import { runOpenCode } from "./lab/opencode-run.ts";
import { calls, hang, text } from "./lab/reply.ts";
import { served, statusApi } from "./status-api.ts";
import { storedTasks } from "./stored.ts";
import { childOf, inChild, launching, noticesIn, notified, ours, wasAsked } from "./tasks-and-notices.ts";

let home: string;
let lab: Lab;
let project: Repository;

beforeEach(async () => {
  home = await newHome();
  mkdirSync(join(home, "project"));
  project = newRepository({ "a.txt": "one\ntwo\nthree\n" }, join(home, "project"));
  project.write({ "new.txt": "not committed\n" });
  lab = await startLab({ home });
});

afterEach(async () => {
  await lab.stop();
  await removeHome(home);
});

const built = new URL("../../", import.meta.url).href;

const trees = () => join(home, "data", "opencode-taskchart", "worktrees");

const bash = (command: string) => ({ name: "bash", args: { command, description: "works" } });

/** Has a session launch tasks in worktrees, and waits until its turn is over. */
const launchInWorktrees = async (parent: string, prompts: string[]): Promise<string[]> => {
  const word = `launch ${prompts.join(", ")}`;
  lab.model.when(word, [calls(prompts.map((prompt) => launching(prompt, { worktree: true }))), text("launched")]);
  await lab.ask(parent, word);
  return Promise.all(prompts.map((prompt) => childOf(lab, prompt)));
};

test("a task in a worktree works on the files as they stand, its changes stay there, and its end is delivered once", async () => {
  const parent = await lab.session();
  lab.model.when(inChild("write it"), [
    calls([bash("pwd; cat new.txt; echo four >> a.txt; echo b > b.txt")]),
    text("Written."),
  ]);
  const [task = ""] = await launchInWorktrees(parent, ["write it"]);
  const notices = await notified(lab, parent, [task]);
  expect(notices).toHaveLength(1);
  const ran = toolResults(lab.model.requests.findLast(({ sessionID }) => sessionID === task) as never).at(-1)?.output;
  expect(ran).toContain("not committed");
  const [id = ""] = readdirSync(trees());
  expect(ran).toContain(join(trees(), id, "tree"));
  expect(project.read("a.txt")).toBe("one\ntwo\nthree\n");
  expect(existsSync(project.path("b.txt"))).toBe(false);
  expect(storedTasks(lab).every(({ owner }) => owner === null)).toBe(true);
  expect(await noticesIn(lab, parent)).toHaveLength(1);
});

test("a task below one in a worktree works in the same, both belong to the project's directory, and each end is told once", async () => {
  const parent = await lab.session();
  lab.model.when(inChild("delegate it"), [calls([launching("do it below")]), text("Delegated."), text("All done.")]);
  lab.model.when(inChild("do it below"), [calls([bash("pwd; echo below > below.txt")]), text("Done below.")]);
  const [task = ""] = await launchInWorktrees(parent, ["delegate it"]);
  const below = await childOf(lab, "do it below");
  await notified(lab, parent, [task]);
  const [id = ""] = readdirSync(trees());
  const tree = join(trees(), id, "tree");
  expect(readdirSync(tree)).toContain("below.txt");
  await served(lab);
  const { body } = await statusApi(lab).get(`/v1/tasks/${below}`);
  expect(body).toMatchObject({
    directory: lab.opencode.project,
    parentTaskId: task,
    worktree: { id, directory: tree, isShared: true },
  });
  expect(await noticesIn(lab, task)).toHaveLength(1);
  expect(await noticesIn(lab, parent)).toHaveLength(1);
});

test("what a task in a worktree asks is seen, and answered through the plugin", async () => {
  await lab.restart({ config: { permission: { bash: "ask" } } });
  await served(lab);
  const parent = await lab.session();
  lab.model.when(inChild("ask first"), [calls([bash("echo asked > asked.txt")]), text("Asked.")]);
  const [task = ""] = await launchInWorktrees(parent, ["ask first"]);
  const { get, post } = statusApi(lab);
  const request = async () => (await get(`/v1/tasks/${task}`)).body.attention?.requests?.[0]?.id;
  const requestId = await lab.until(request, { what: "the request is seen" });
  expect((await post(`/v1/tasks/${task}/answers`, { requestId, reply: "once" })).status).toBe(200);
  const notices = await notified(lab, parent, [task]);
  expect(notices[0]?.hidden).toContain("Asked.");
});

test("a task in a worktree is cancelled, and its worktree, in which nothing was changed, goes", async () => {
  const parent = await lab.session();
  lab.model.when(inChild("run for ever"), hang());
  const [task = ""] = await launchInWorktrees(parent, ["run for ever"]);
  lab.model.when("cancel it", [calls([ours("cancel", { task_id: task })]), text("cancelled")]);
  await lab.ask(parent, "cancel it");
  const notices = await notified(lab, parent, [task]);
  expect(notices[0]?.visible).toContain("cancelled");
  const [id = ""] = readdirSync(trees());
  await lab.until(() => !existsSync(join(trees(), id, "tree")), { what: "the worktree is removed" });
  expect(project.git("worktree", "list").trim().split("\n")).toHaveLength(1);
});

test("a task in a worktree survives a crash of OpenCode, and its end is delivered once", async () => {
  const parent = await lab.session();
  lab.model.when(inChild("outlive it"), hang());
  const [task = ""] = await launchInWorktrees(parent, ["outlive it"]);
  await lab.opencode.kill();
  lab.model.when(inChild("outlive it"), [calls([bash("echo alive > alive.txt")]), text("Outlived.")]);
  await lab.restart();
  const notices = await lab.until(
    async () => {
      const told = await noticesIn(lab, parent);
      return storedTasks(lab).every(({ owner }) => owner === null) && told.length > 0 && told;
    },
    { what: "its end is delivered" },
  );
  expect(notices).toMatchObject([{ taskId: task }]);
  expect(notices[0]?.hidden).toContain("Outlived.");
  const [id = ""] = readdirSync(trees());
  expect(existsSync(join(trees(), id, "tree", "alive.txt"))).toBe(true);
});

test("a forked task in a worktree has the conversation and works there", async () => {
  const parent = await lab.session();
  await lab.ask(parent, "the word is heron");
  const fork = launching("go on there", { worktree: true, fork: true });
  lab.model.when(
    (request) => request.sessionID === parent && lastUserText(request) === "fork it",
    [calls([fork]), text("launched")],
  );
  lab.model.when(
    (request) => request.sessionID !== parent && lastUserText(request).endsWith("go on there"),
    [calls([bash("pwd; echo forked > forked.txt")]), text("Forked.")],
  );
  await lab.ask(parent, "fork it");
  const task = await lab.until(() => storedTasks(lab)[0]?.id, { what: "the task is stored" });
  const notices = await notified(lab, parent, [task]);
  expect(notices[0]?.hidden).toContain("Forked.");
  const [id = ""] = readdirSync(trees());
  expect(existsSync(join(trees(), id, "tree", "forked.txt"))).toBe(true);
  expect(await lab.texts(task)).toEqual(expect.arrayContaining(["user: the word is heron"]));
});

test("in opencode run, what a task in a worktree asks is rejected, and the run ends", async () => {
  await lab.opencode.kill();
  lab.model.when(inChild("ask nobody"), [calls([bash("echo no > no.txt")]), text("Nobody answered.")]);
  lab.model.when(wasAsked("launch and wait"), (request) => {
    const [launched, collected] = toolResults(request);
    if (collected) return text(`collected: ${collected.output}`);
    const id = /Task (ses_\w+) is/.exec(String(launched?.output))?.[1];
    return calls([
      launched ? ours("output", { task_id: id, block: true }) : launching("ask nobody", { worktree: true }),
    ]);
  });
  const options = { ...lab.options, config: { permission: { bash: "ask" } } } as const;
  const run = await runOpenCode({ ...options, message: "launch and wait" });
  expect(run.timedOut).toBe(false);
  expect(JSON.stringify(run.events)).toContain("Nobody answered.");
});

test("three writers of one file, each in a worktree of its own, are applied one after the other, with one conflict", {
  tags: "gate",
}, async () => {
  const parent = await lab.session();
  const writers = {
    "write the top": "sed -i 's/^one$/ONE/' a.txt",
    "write the end": "sed -i 's/^three$/THREE/' a.txt; echo new > b.txt",
    "write the top too": "sed -i 's/^one$/uno/' a.txt",
  };
  for (const [prompt, command] of Object.entries(writers)) {
    lab.model.when(inChild(prompt), [calls([bash(command)]), text("Written.")]);
  }
  const tasks = await launchInWorktrees(parent, Object.keys(writers));
  await notified(lab, parent, tasks);
  expect(project.read("a.txt")).toBe("one\ntwo\nthree\n");
  const apply = async (task = "") => {
    const data = join(home, "data", "opencode-taskchart");
    return opencodeTaskchart(["apply", task, "--in", project.top, "--data", data]);
  };
  const [top, end, topToo] = tasks;
  expect(await apply(top)).toMatchObject({ code: 0 });
  expect(await apply(end)).toMatchObject({ code: 0 });
  expect(await apply(topToo)).toMatchObject({ code: 2, error: expect.stringContaining("  a.txt (content)") });
  expect(project.read("a.txt")).toBe("ONE\ntwo\nTHREE\n");
  expect(project.read("b.txt")).toBe("new\n");
  expect(project.git("worktree", "list").trim().split("\n")).toHaveLength(2);

  // The command has removed the worktree behind OpenCode's back; the first writer goes on all the same.
  lab.model.when(inChild("write the middle"), [calls([bash("sed -i 's/^two$/TWO/' a.txt; cat a.txt")]), text("More.")]);
  lab.model.when("resume the first", [
    calls([ours("task", { resume: top, prompt: "write the middle" })]),
    text("resumed"),
  ]);
  await lab.ask(parent, "resume the first");
  await lab.until(async () => (await noticesIn(lab, parent)).length === 4, { what: "its second end is told" });
  expect(await apply(top)).toMatchObject({ code: 0 });
  expect(project.read("a.txt")).toBe("ONE\nTWO\nTHREE\n");
});

test("a task whose clean worktree went is resumed in one that is made again, at the same place", async () => {
  const parent = await lab.session();
  lab.model.when(inChild("look at it"), [calls([bash("cat a.txt")]), text("Looked.")]);
  const [task = ""] = await launchInWorktrees(parent, ["look at it"]);
  await notified(lab, parent, [task]);
  const [id = ""] = readdirSync(trees());
  const tree = join(trees(), id, "tree");
  await lab.until(() => !existsSync(tree), { what: "the worktree is removed" });
  project.write({ "later.txt": "written since\n" });
  lab.model.when(inChild("now write"), [calls([bash("cat later.txt; echo w > written.txt")]), text("Wrote it.")]);
  lab.model.when("resume it", [calls([ours("task", { resume: task, prompt: "now write" })]), text("resumed")]);
  await lab.ask(parent, "resume it");
  await lab.until(async () => (await noticesIn(lab, parent)).length === 2, { what: "its second end is told" });
  const request = lab.model.requests.findLast(({ sessionID }) => sessionID === task);
  expect(request && toolResults(request).at(-1)?.output).toContain("written since");
  expect(existsSync(join(tree, "written.txt"))).toBe(true);
  const [, second] = await noticesIn(lab, parent);
  expect(second?.hidden).toContain('"written.txt" added +1 −0');
});

test("where OpenCode opens a worktree first after a restart, its agents have the tools, and their tasks belong to the project", async () => {
  const parent = await lab.session();
  lab.model.when(inChild("write one"), [calls([bash("echo 1 > one.txt")]), text("One.")]);
  const [task = ""] = await launchInWorktrees(parent, ["write one"]);
  await notified(lab, parent, [task]);
  const [id = ""] = readdirSync(trees());
  const directory = join(trees(), id, "tree");
  await lab.opencode.kill();
  await lab.restart();
  lab.model.when("a person asks", [calls([launching("below a person")]), text("launched")]);
  lab.model.when(inChild("below a person"), [calls([bash("pwd")]), text("Done there.")]);
  const parts = [{ type: "text" as const, text: "a person asks" }];
  await lab.client.session.promptAsync({ sessionID: task, directory, parts }, { throwOnError: true });
  const below = await childOf(lab, "below a person");
  await lab.until(async () => (await noticesIn(lab, task)).length === 1, { what: "its end is told" });
  await served(lab);
  const { body } = await statusApi(lab).get(`/v1/tasks/${below}`);
  expect(body).toMatchObject({ directory: lab.opencode.project, worktree: { directory, isShared: true } });
});

test("OpenCode starts its plugins anew in the project while a task works in a worktree: it goes on, and its end is told once", async () => {
  const parent = await lab.session();
  const waits = hang();
  lab.model.when(inChild("work across a reload"), waits);
  const [task = ""] = await launchInWorktrees(parent, ["work across a reload"]);
  const ownerOf = () => storedTasks(lab).find(({ id }) => id === task)?.owner;
  const owner = ownerOf();
  await lab.client.instance.dispose();
  const works = hang();
  lab.model.when("work on something", works);
  await lab.prompt(parent, "work on something");
  await lab.until(() => ownerOf() !== owner, { what: "the new instance has the task" });
  works.release(text("worked"));
  waits.release(text("It went on."));
  await lab.until(async () => ownerOf() === null && (await noticesIn(lab, parent)).length > 0, {
    what: "its end is told",
  });
  const notices = await noticesIn(lab, parent);
  expect(notices).toHaveLength(1);
  expect(notices[0]?.hidden).toContain("It went on.");
});

test("an agent that clears its tasks removes no changes that a person has not decided about, and a person still can apply them", async () => {
  const parent = await lab.session();
  lab.model.when(inChild("write for later"), [calls([bash("echo b > b.txt")]), text("Written.")]);
  const [task = ""] = await launchInWorktrees(parent, ["write for later"]);
  await notified(lab, parent, [task]);
  const clear = async (word: string, args: Record<string, unknown>) => {
    lab.model.when(word, [calls([ours("clear", args)]), text("cleared")]);
    await lab.ask(parent, word);
    const request = lab.model.requests.findLast(({ sessionID }) => sessionID === parent);
    return request && toolResults(request).at(-1)?.output;
  };
  expect(await clear("clear all", {})).toContain(`Kept ${task}`);
  expect(await clear("clear that one", { task_id: task })).toContain(
    "The user has not decided about that, and only the user can",
  );
  const [id = ""] = readdirSync(trees());
  expect(readFileSync(join(trees(), id, "changes.patch"), "utf8")).toContain("b.txt");
  const data = join(home, "data", "opencode-taskchart");
  const applied = await opencodeTaskchart(["apply", task, "--in", project.top, "--data", data]);
  expect(applied).toMatchObject({ code: 0 });
  expect(project.read("b.txt")).toBe("b\n");
  expect(await clear("clear what is applied", { task_id: task })).toContain(`Removed ${task}`);
  await lab.until(() => readdirSync(trees()).length === 0, { what: "its worktree's folder is removed" });
});

test("two that end while git is slow are told of together, each with what it changed", async () => {
  const bin = join(home, "slow-git");
  mkdirSync(bin);
  const [git = ""] = (process.env.PATH ?? "").split(":").flatMap((folder) => {
    const file = join(folder, "git");
    return existsSync(file) ? file : [];
  });
  const slow = join(home, "slow");
  writeFileSync(join(bin, "git"), `#!/bin/sh\ntest ! -e '${slow}' || sleep 0.15\nexec '${git}' "$@"\n`, {
    mode: 0o755,
  });
  await lab.restart({ env: { PATH: `${bin}:${process.env.PATH}` } });
  const parent = await lab.session();
  const ends = [hang(), hang()] as const;
  lab.model.when(inChild("write one"), [calls([bash("echo 1 > one.txt")]), ends[0]]);
  lab.model.when(inChild("write two"), [calls([bash("echo 2 > two.txt")]), ends[1]]);
  const tasks = await launchInWorktrees(parent, ["write one", "write two"]);
  await lab.until(
    () => tasks.every((task) => lab.model.requests.filter(({ sessionID }) => sessionID === task).length === 2),
    { what: "both have written" },
  );
  writeFileSync(slow, "");
  ends[0].release(text("One."));
  const isStored = () => storedTasks(lab).some(({ status }) => status === "completed");
  await lab.until(isStored, { what: "the first has ended" });
  ends[1].release(text("Two."));
  const notices = await notified(lab, parent, tasks);
  const told = notices.map(({ visible, hidden }) => `${visible}\n${hidden}`).join("\n");
  expect(told).toContain('"one.txt" added +1 −0');
  expect(told).toContain('"two.txt" added +1 −0');
  expect(told.match(/In its worktree: 1 file changed/g)).toHaveLength(2);
});

test("a gate runs in the worktree, where the task worked, and what it finds there is mended there", async () => {
  await lab.restart({ plugin: [built, { gate: { agents: { general: "test -e made.txt" } } }] });
  const parent = await lab.session();
  lab.model.when(inChild("make it"), text("I made it."));
  lab.model.when(
    (request) => request.parentSessionID === parent && lastUserText(request).includes("A command of the project"),
    [calls([bash("echo made > made.txt")]), text("Now I did.")],
  );
  const [task = ""] = await launchInWorktrees(parent, ["make it"]);
  const [notice] = await notified(lab, parent, [task]);
  expect(notice?.hidden).toContain("gate passed at run 2");
  expect(notice?.hidden).toContain("> Now I did.");
  expect(notice?.hidden).toContain('- "made.txt" added +1 −0');
  expect(existsSync(project.path("made.txt"))).toBe(false);
});

test("a setup command that leaves a process in a session of its own keeps no launch waiting, and the process is ended", async () => {
  await lab.stop();
  const setup = "setsid sh -c 'echo $$ > \"$TASKCHART_SOURCE/stray.pid\"; exec sleep 600' & echo ready > ready.txt";
  lab = await startLab({ home, plugin: [built, { worktree: { setup } }] });
  const parent = await lab.session();
  lab.model.when(inChild("work in it"), text("Done."));
  const [task = ""] = await launchInWorktrees(parent, ["work in it"]);
  expect(await notified(lab, parent, [task])).toHaveLength(1);
  const pid = Number(project.read("stray.pid"));
  await lab.until(
    () => {
      try {
        process.kill(pid, 0);
        return false;
      } catch {
        return true;
      }
    },
    { what: "the process has ended" },
  );
});
