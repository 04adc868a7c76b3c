import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Lab, startLab } from "./lab/lab.ts";
import { toolNames } from "./lab/model-request.ts";
import { calls, text } from "./lab/reply.ts";
import { setUp } from "./lab/set-up.ts";
import { launchFrom, launching, notified } from "./tasks-and-notices.ts";

const built = new URL("../../dist/index.js", import.meta.url).href;

let lab: Lab;

setUp(async () => {
  lab = await startLab({ env: { NODE_ENV: "production" } });
  return () => lab.stop();
});

/** Has an agent launch a task, and returns the visible part of the one notice of its end. */
const launched = async () => {
  const parent = await lab.session();
  const [task] = await launchFrom(lab, parent, [`a task of process ${lab.opencode.pid}`]);
  const notices = await notified(lab, parent, [String(task)]);
  expect(notices).toHaveLength(1);
  return { parent, visible: notices[0]?.visible };
};

test("the built plugin shows no hint indicator in production", async () => {
  expect((await launched()).visible).toMatch(/Task Progress: 1\/1\nResult: ".*"$/);
});

/** The newest model request of a session names the tools that its agent has. */
const toolsOf = (parent: string): string[] => {
  const request = lab.model.requests.findLast(({ sessionID }) => sessionID === parent);
  return request ? toolNames(request) : [];
};

describe("where OpenCode's own task tool is turned off", () => {
  const tools = { task: false };

  test("no task is launched either", async () => {
    await lab.restart({ config: { tools, plugin: [built] } });
    const parent = await lab.session();
    lab.model.when("launch it all the same", [calls([launching("be refused")]), text("it was refused")]);
    await lab.ask(parent, "launch it all the same");
    expect((await lab.texts(parent)).join("\n")).toContain("The user has specified a rule which prevents you");
  });

  test("the plugin launches tasks with a permission of its own; in development it shows a hint indicator", {
    tags: "gate",
  }, async () => {
    const config = {
      tools,
      plugin: [[built, { permission: "asyncagents_task" }] as [string, Record<string, unknown>]],
    };
    await lab.restart({ config, env: { NODE_ENV: "development" } });
    const { parent, visible } = await launched();
    expect(visible).toMatch(/Task Progress: 1\/1\nResult: ".*" \[hint attached\]$/);
    expect(toolsOf(parent)).toContain("asyncagents_task");
    expect(toolsOf(parent)).not.toContain("task");
  });
});

const LATER = `export default { id: "later", server: async () => ({
  config: async (config) => { config.agent = { ...config.agent, latecomer: { mode: "subagent", prompt: "You are late." } }; },
}) };`;

test("a wrong option is named in the log and by a toast, and gets its default; the prefix is the user's to choose; agents that a later plugin adds have their subtask tools", {
  tags: "gate",
}, async () => {
  const later = join(lab.options.home, "later.js");
  await writeFile(later, LATER);
  const wrong = { maxDepth: "deep", prefx: "x" };
  const options = { ...wrong, prefix: "superagents", toolsets: ["tasks", "subtasks"] };
  await lab.restart({ config: { plugin: [[built, options], later] } });
  const parent = await lab.session();
  await lab.ask(parent, "hello");
  expect((await lab.texts(parent)).at(-1)).toBe("assistant: ok");
  const names = ["superagents_task", "create_subtask_general", "create_subtask_latecomer"];
  expect(toolsOf(parent)).toEqual(expect.arrayContaining(names));
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
});
