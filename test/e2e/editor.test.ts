import { afterAll, beforeAll, expect, test } from "vitest";
import { type Editor, startEditor } from "./lab/editor.ts";
import { newHome, removeHome } from "./lab/home.ts";
import { pluginsOf } from "./lab/lab.ts";
import { textOf } from "./lab/model-request.ts";
import { calls, text } from "./lab/reply.ts";
import { type ScriptedModel, startModel } from "./lab/scripted-model.ts";
import { storedTasks } from "./stored.ts";
import { inChild, launching } from "./tasks-and-notices.ts";

let model: ScriptedModel;
let home: string;
let editor: Editor;

beforeAll(async () => {
  model = await startModel();
  home = await newHome();
  const config = { permission: { bash: "ask" as const } };
  editor = await startEditor({ modelURL: model.url, plugins: pluginsOf(), home, config });
  await editor.call("initialize", { protocolVersion: 1, clientCapabilities: {} });
});

afterAll(async () => {
  await editor.stop();
  await model.stop();
  await removeHome(home);
});

test("in an editor, which is shown nothing of a task, the agent says what the task asks of the person, once", async () => {
  const { sessionId } = await editor.call("session/new", { cwd: `${home}/project`, mcpServers: [] });
  const command = { command: "echo hello > hello.txt", description: "write a file" };
  model.when(inChild("write hello"), [calls([{ name: "bash", args: command }]), text("written")]);
  model.when("have hello written", [calls([launching("write hello")]), text("launched")]);
  model.when(
    (request) =>
      request.sessionID === sessionId &&
      textOf(request.messages.at(-1) ?? { role: "user" }).includes("asks permission for bash: echo hello > hello.txt"),
    text("Your task asks whether it may run echo hello."),
  );
  await editor.call("session/prompt", { sessionId, prompt: [{ type: "text", text: "have hello written" }] });
  await editor.untilSaid("Your task asks whether it may run echo hello.");
  const asked = model.requests.filter((request) => request.sessionID === sessionId).at(-1);
  const notice = textOf(asked?.messages.at(-1) ?? { role: "user" });
  expect(notice).toContain("only the user may approve it");
  expect(notice).not.toMatch(/per_\w+/);
  expect(storedTasks({ options: { home } }).map(({ status }) => status)).toEqual(["running"]);
  // Nothing else of it came to the editor.
  expect(editor.messages.filter(({ method }) => method === "session/request_permission")).toEqual([]);
});
