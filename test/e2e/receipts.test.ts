import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { calls, hang, type ScriptedCall, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { dataFolder, served, statusApi } from "./status-api.ts";
import { inChild, launchFrom, notified } from "./tasks-and-notices.ts";

let lab: Lab;

setUp(async () => {
  lab = await startLab();
  return () => lab.stop();
});

const inProject = (name: string) => join(lab.options.home, "project", name);
const bash = (command: string): ScriptedCall => ({ name: "bash", args: { command, description: "try it" } });
const write = (name: string, content: string): ScriptedCall => ({
  name: "write",
  args: { filePath: inProject(name), content },
});

const taskOf = async (id: string) => {
  await served(lab);
  return (await statusApi(lab).get(`/v1/tasks/${id}`)).body;
};

const command = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

const receiptOf = async (id: string) => {
  const { stdout } = await promisify(execFile)(process.execPath, [command, "receipt", id, "--data", dataFolder(lab)], {
    env: { ...process.env, NO_COLOR: "1", COLUMNS: "200" },
  });
  return stdout;
};

test("a task that claims tests and ran none has a receipt that says so", async () => {
  const parent = await lab.session();
  lab.model.when(inChild("run the tests"), text("I ran all 120 tests. They pass."));
  const [id = ""] = await launchFrom(lab, parent, ["run the tests"]);
  const [notice] = await notified(lab, parent, [id]);
  expect(notice?.hidden).toContain("\nObserved: no tool was called.\n");
  expect((await taskOf(id)).receipt).toMatchObject({ run: 0, isWhole: true, tools: [], commands: [] });
  expect(await receiptOf(id)).toContain("  No tool was called.\n");
});

test("a receipt has the files, commands and tests that OpenCode's own tools report", { tags: "gate" }, async () => {
  const parent = await lab.session();
  await writeFile(inProject("there.txt"), "one\ntwo\n");
  lab.model.when(inChild("do some work"), [
    calls([write("new.txt", "a\nb\nc\n"), { name: "read", args: { filePath: inProject("there.txt") } }]),
    calls([{ name: "edit", args: { filePath: inProject("there.txt"), oldString: "two", newString: "2\n3" } }]),
    calls([bash("npm test; exit 3"), bash("exit 4")]),
    calls([{ name: "edit", args: { filePath: inProject("nowhere.txt"), oldString: "x", newString: "y" } }]),
    text("done"),
  ]);
  const [id = ""] = await launchFrom(lab, parent, ["do some work"]);
  const [notice] = await notified(lab, parent, [id]);
  expect(await readFile(inProject("there.txt"), "utf8")).toBe("one\n2\n3\n");
  const { receipt, progress } = await taskOf(id);
  expect(receipt).toMatchObject({
    isWhole: true,
    filesRead: 1,
    files: [
      { path: "new.txt", change: "added", added: 3, removed: 0 },
      { path: "there.txt", change: "changed", added: 2, removed: 1 },
    ],
    commands: expect.arrayContaining([
      { command: "npm test; exit 3", exit: 3, end: "exited", tests: "unclear" },
      { command: "exit 4", exit: 4, end: "exited" },
    ]),
    tokens: progress.tokens,
  });
  expect(receipt.tools).toEqual(
    expect.arrayContaining([
      { tool: "bash", calls: 2, failed: 0 },
      { tool: "edit", calls: 2, failed: 1 },
      { tool: "read", calls: 1, failed: 0 },
      { tool: "write", calls: 1, failed: 0 },
    ]),
  );
  expect(receipt.workedMs).toBeGreaterThan(0);
  expect(notice?.hidden).toContain("2 files written (+5 −1 lines); 2 commands (2 failed); tests ran, with an outcome");
  expect(await receiptOf(id)).toContain('- "exit 4": exit code 4\n');
});

test("after a crash the receipt has what the task did before it, too", async () => {
  const parent = await lab.session();
  lab.model.when(inChild("work through a crash"), [calls([bash("exit 5")]), hang(), text("done")]);
  const [id = ""] = await launchFrom(lab, parent, ["work through a crash"]);
  await lab.model.waitFor(({ sessionID, messages }) => sessionID === id && JSON.stringify(messages).includes("exit 5"));
  await lab.opencode.kill();
  await lab.restart();
  const [notice] = await notified(lab, parent, [id]);
  expect((await taskOf(id)).receipt).toMatchObject({ isWhole: true, commands: [{ command: "exit 5", exit: 5 }] });
  expect(notice?.hidden).toContain(
    "\nObserved: 1 tool call: bash 1; 1 command (1 failed); no tests were seen to run.\n",
  );
});
