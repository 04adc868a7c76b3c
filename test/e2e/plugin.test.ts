import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { toolNames } from "./lab/model-request.ts";
import { calls, text } from "./lab/reply.ts";
import { launchFrom, launching, notified } from "./tasks-and-notices.ts";

const built = new URL("../../dist/index.js", import.meta.url).href;

let lab: Lab;

beforeAll(async () => {
  lab = await startLab({ env: { NODE_ENV: "production" } });
});

afterAll(() => lab.stop());

const onlyVisible = async () => {
  const parent = await lab.session();
  const [task] = await launchFrom(lab, parent, [`a task of process ${lab.opencode.pid}`]);
  const notices = await notified(lab, parent, [String(task)]);
  expect(notices).toHaveLength(1);
  return notices[0]?.visible;
};

test("the built plugin shows no hint indicator in production, and shows one in development", async () => {
  expect(await onlyVisible()).toMatch(/Task Progress: 1\/1\nResult: ".*"$/);
  await lab.restart({ env: { NODE_ENV: "development" } });
  expect(await onlyVisible()).toMatch(/Task Progress: 1\/1\nResult: ".*" \[hint attached\]$/);
});

test("a wrong option is named in the log and by a toast, and gets its default: the tools are there all the same", async () => {
  await lab.restart({ plugin: [built, { maxDepth: "deep", prefx: "x" }] });
  const parent = await lab.session();
  await lab.ask(parent, "hello");
  expect((await lab.texts(parent)).at(-1)).toBe("assistant: ok");
  const said = [
    'option "maxDepth": Invalid input: expected number, received string; the default is used',
    'option "prefx": there is no such option',
  ];
  // The log is written at leisure, with its quotation marks escaped.
  const isSaid = () => {
    const log = lab.opencode.log().replaceAll("\\", "");
    return said.every((fault) => log.includes(fault));
  };
  await lab.until(isSaid, { what: "the log names the options" });
  const toast = await lab.events.waitFor("tui.toast.show");
  expect(toast.properties).toMatchObject({ message: expect.stringContaining(said.join("; ")), variant: "error" });
  const request = lab.model.requests.findLast(({ sessionID }) => sessionID === parent);
  expect(request && toolNames(request)).toContain("asyncagents_task");
});

test("with a permission of its own, the plugin launches tasks though OpenCode's own task tool is turned off", async () => {
  const tools = { task: false };
  await lab.restart({ config: { tools, plugin: [[built, { permission: "asyncagents_task" }]] } });
  const parent = await lab.session();
  const [task] = await launchFrom(lab, parent, ["work without the other tool"]);
  expect(await notified(lab, parent, [String(task)])).toHaveLength(1);
  const request = lab.model.requests.findLast(({ sessionID }) => sessionID === parent);
  expect(request && toolNames(request)).toContain("asyncagents_task");
  expect(request && toolNames(request)).not.toContain("task");

  await lab.restart({ config: { tools, plugin: [built] } });
  const refused = await lab.session();
  lab.model.when("launch it all the same", [calls([launching("be refused")]), text("it was refused")]);
  await lab.ask(refused, "launch it all the same");
  expect((await lab.texts(refused)).join("\n")).toContain("The user has specified a rule which prevents you");
});

const LATER = `export default { id: "later", server: async () => ({
  config: async (config) => { config.agent = { ...config.agent, latecomer: { mode: "subagent", prompt: "You are late." } }; },
}) };`;

test("the prefix is the user's to choose; agents that a later plugin adds have their subtask tools", async () => {
  const later = join(lab.options.home, "later.js");
  await writeFile(later, LATER);
  const options = { prefix: "superagents", toolsets: ["tasks", "subtasks"] };
  await lab.restart({ config: { plugin: [[built, options], later] } });
  const parent = await lab.session();
  await lab.ask(parent, "hello");
  const request = lab.model.requests.findLast(({ sessionID }) => sessionID === parent);
  const names = ["superagents_task", "create_subtask_general", "create_subtask_latecomer"];
  expect(request && toolNames(request)).toEqual(expect.arrayContaining(names));
});
