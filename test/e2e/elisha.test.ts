import { execFile } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { newHome, removeHome } from "./lab/home.ts";
import { type Lab, startLab } from "./lab/lab.ts";
import { toolResults } from "./lab/model-request.ts";
import { calls, hang, text } from "./lab/reply.ts";
import { type ScriptedModel, startModel } from "./lab/scripted-model.ts";
import { setUp } from "./lab/set-up.ts";
import { childOf, inChild, noticesIn, notified } from "./tasks-and-notices.ts";

const run = promisify(execFile);
const repository = fileURLToPath(new URL("../..", import.meta.url));

/** A plugin that was written for Elisha's task domain. Of its imports, the path alone was changed. */
const PLUGIN = `
import type { Hooks, PluginInput } from "@opencode-ai/plugin";
import {
  fetchTaskText, isTaskComplete, setupTaskHooks, setupTaskTools, TOOL_TASK_ID, waitForTask,
  type TaskResult,
} from "opencode-taskchart/elisha";

export const ElishaPlugin = async (ctx: PluginInput): Promise<Hooks> => {
  const tools = await setupTaskTools(ctx);
  const hooks = setupTaskHooks(ctx);
  const asked = async <T>(work: Promise<T>): Promise<T | string> => work.catch((error: Error) => error.message);
  return {
    ...hooks,
    tool: {
      ...tools,
      look_at_task: {
        description: "Looks at a task.",
        args: {},
        execute: async (args: object) => {
          const { task_id } = args as { task_id: string };
          const running: TaskResult["status"] = "running";
          return JSON.stringify({
            names: [TOOL_TASK_ID, ...Object.keys(tools)],
            isComplete: await asked(isTaskComplete(task_id, ctx)),
            isRunning: !(await asked(waitForTask(task_id, 50, ctx))) ? running : undefined,
            text: await asked(fetchTaskText(task_id, ctx)),
          });
        },
      },
    },
  };
};
`;

let model: ScriptedModel;
let home: string;
let lab: Lab;

/** Writes that plugin into a home, where the package is installed beside it. Returns its place. */
const writePlugin = async (): Promise<string> => {
  const folder = join(home, "elisha");
  await mkdir(join(folder, "node_modules", "@opencode-ai"), { recursive: true });
  await symlink(repository, join(folder, "node_modules", "opencode-taskchart"));
  await symlink(
    join(repository, "node_modules/@opencode-ai/plugin"),
    join(folder, "node_modules", "@opencode-ai", "plugin"),
  );
  await writeFile(join(folder, "plugin.ts"), PLUGIN);
  return join(folder, "plugin.ts");
};

const elisha = (tool: string, args: Record<string, unknown>) => ({ name: tool, args });
const launching = (prompt: string, more = {}) =>
  elisha("elisha_task", { title: prompt, agent: "general", prompt, ...more });

/** Has an agent call these tools, one after the other, and resolves to what they answered. */
const answersOf = async (parent: string, words: string, ...asked: ReturnType<typeof elisha>[]) => {
  const before = await results(parent);
  lab.model.when(words, (request) => {
    const call = asked[toolResults(request).length - before.length];
    return call ? calls([call]) : text("done");
  });
  await lab.ask(parent, words);
  return (await results(parent)).slice(before.length);
};

const results = async (sessionID: string) =>
  (await lab.messages(sessionID)).flatMap(({ parts }) =>
    parts.flatMap((part) =>
      part.type === "tool" && part.state.status === "completed" ? [JSON.parse(part.state.output)] : [],
    ),
  );

const toolsOf = async (parent: string): Promise<string[]> => {
  lab.model.when("which tools are there", text("many"));
  await lab.ask(parent, "which tools are there");
  const request = lab.model.requests.findLast(({ sessionID }) => sessionID === parent);
  return (request?.tools ?? []).map(({ function: { name } }) => name);
};

const remindersIn = async (sessionID: string) =>
  (await lab.messages(sessionID)).flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === "text" && part.text.startsWith("<task-context>") ? part : [])),
  );

describe.each([
  ["alone", undefined],
  ["before the plugin", "after"],
  ["after the plugin", "before"],
] as const)("a plugin that was written for Elisha's task domain, %s", (_, plugin) => {
  setUp(async () => {
    model = await startModel();
    home = await newHome();
    const theirs = pathToFileURL(await writePlugin()).href;
    const ours: [string, Record<string, unknown>] = [pathToFileURL(repository).href, { maxDepth: 1 }];
    const plugins = plugin === undefined ? [theirs] : plugin === "after" ? [theirs, ours] : [ours, theirs];
    lab = await startLab({ home, model, plugin: "none", config: { plugin: plugins } });
    return async () => {
      await lab.stop();
      await model.stop();
      await removeHome(home);
    };
  });

  test("elisha-task-domain › setupTaskTools › each result of its tools is delivered once, and its functions read the same tasks", {
    tags: plugin === undefined ? ["gate"] : [],
  }, async () => {
    const parent = await lab.session();
    lab.model.when(inChild("count the files"), text("There are 12."));
    const [waited] = await answersOf(parent, "have the files counted", launching("count the files"));
    const id = await childOf(lab, "count the files");
    expect(waited).toEqual({
      status: "completed",
      task_id: id,
      agent: "general",
      title: "count the files",
      result: "There are 12.",
    });
    expect(await noticesIn(lab, parent)).toEqual([]);

    lab.model.when(inChild("think for ever"), hang());
    const [launched] = await answersOf(parent, "think of it", launching("think for ever", { async: true }));
    expect(launched).toMatchObject({ status: "running" });
    const looks = await answersOf(
      parent,
      "look at them",
      elisha("look_at_task", { task_id: id }),
      elisha("look_at_task", { task_id: launched.task_id }),
      elisha("look_at_task", { task_id: "ses_none" }),
      elisha("elisha_task_cancel", { task_id: launched.task_id }),
    );
    const names = ["elisha_task", "elisha_task", "elisha_task_output", "elisha_task_cancel"];
    const none = 'There is no task "ses_none".';
    expect(looks).toEqual([
      { names, isComplete: true, text: "There are 12." },
      {
        names,
        isComplete: false,
        isRunning: "running",
        text: `Task ${launched.task_id} has no result: it is running.`,
      },
      { names, isComplete: none, text: none },
      expect.objectContaining({ status: "cancelled" }),
    ]);

    lab.model.when(inChild("count the folders"), text("Two."));
    await answersOf(parent, "count later", launching("count the folders", { async: true }));
    const later = await childOf(lab, "count the folders");
    const notices = await notified(lab, parent, [later]);
    expect(notices.map(({ taskId }) => taskId)).toEqual([later]);
    expect(notices[0]?.hidden).toContain("> Two.");
  });

  test("elisha-task-domain › setupTaskHooks › its agent is reminded once after a compaction", async () => {
    const parent = await lab.session();
    lab.model.when(inChild("wait for ever"), hang());
    await answersOf(parent, "launch it", launching("wait for ever", { async: true }));
    lab.model.when(({ messages }) => JSON.stringify(messages).includes("summary"), text("They launched a task."));
    await lab.client.session.summarize({ sessionID: parent, providerID: "scripted", modelID: "m1" });
    await lab.until(async () => (await remindersIn(parent)).length > 0, { what: "a reminder" });
    await lab.idle(parent);
    expect(await remindersIn(parent)).toEqual([
      expect.objectContaining({ synthetic: true, text: expect.stringContaining('"wait for ever" (general): running') }),
    ]);
  });

  test("shares the engine of the directory, and has the options of the plugin", async () => {
    const parent = await lab.session();
    const names = await toolsOf(parent);
    expect(names.filter((name) => name.startsWith("elisha_")).sort()).toEqual([
      "elisha_task",
      "elisha_task_cancel",
      "elisha_task_output",
    ]);
    expect(names.includes("asyncagents_task")).toBe(plugin !== undefined);
    // One engine: the option of the plugin is that of a task which the other plugin's tool launched.
    lab.model.when(inChild("go deep"), (request) =>
      toolResults(request).length === 0 ? calls([launching("go deeper")]) : text(toolResults(request)[0]?.output ?? ""),
    );
    lab.model.when(inChild("go deeper"), text("I am deep."));
    const [deep] = await answersOf(parent, "dive", launching("go deep"));
    expect(JSON.parse(deep.result).status).toBe(plugin === undefined ? "completed" : "failed");
  });
});

test("the entry has types, which a plugin that was written for Elisha's task domain passes", async () => {
  home = await newHome();
  try {
    const plugin = await writePlugin();
    const options = "--noEmit --strict --module nodenext --target esnext --skipLibCheck --types node".split(" ");
    const types = ["--typeRoots", join(repository, "node_modules/@types")];
    await run(join(repository, "node_modules/.bin/tsc"), [...options, ...types, plugin], { cwd: dirname(plugin) });
  } finally {
    await removeHome(home);
  }
});
