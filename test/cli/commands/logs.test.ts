import { expect, test, vi } from "vitest";
import { runCommand } from "../../../src/cli/run-command.ts";
import { PATIENCE_MS } from "../../patience.ts";
import { serve } from "../../services/http/served.ts";
import { commandHere } from "../command-line.ts";
import { scriptedTerminal } from "../scripted-terminal.ts";

const AT = Date.parse("2026-11-23T10:00:00.000Z");

const user = {
  info: { id: "msg_1", role: "user", time: { created: AT } },
  parts: [{ id: "prt_1", type: "text", text: "Count." }],
};

const assistant = (isDone: boolean, ...parts: unknown[]) => ({
  info: {
    id: "msg_2",
    role: "assistant",
    agent: "general",
    modelID: "m1",
    time: { created: AT + 1, ...(isDone ? { completed: AT + 9 } : {}) },
  },
  parts,
});

const tool = (status: string, more = {}) => ({
  id: "prt_2",
  type: "tool",
  tool: "bash",
  state: { status, input: { command: "ls\nrm" }, ...more },
});

const answer = { id: "prt_3", type: "text", text: "There are 12.\n\nIndeed.", time: { start: AT } };

/** A task with these messages, and how its logs are printed. */
const withLogs = async (messages: unknown[]) => {
  const served = await serve();
  const { sessionID } = served.source.launch();
  served.source.messages.set(sessionID, messages);
  return (...args: string[]) => commandHere(["logs", sessionID, "--data", served.folder, ...args], { columns: 60 });
};

test("a conversation is printed with who said what and when, and how tool calls ended", async () => {
  const failed = {
    info: { ...assistant(true).info, id: "msg_3", error: { name: "APIError", data: { message: "overloaded" } } },
    parts: [],
  };
  const logs = await withLogs([
    user,
    assistant(true, { id: "prt_0", type: "step-start" }, tool("error", { error: "denied" }), answer),
    failed,
  ]);
  const { code, out } = await logs();
  expect(code).toBe(0);
  expect(out.replaceAll(/^\d\d:\d\d:\d\d/gm, "10:00:00").split("\n")).toEqual([
    "10:00:00  user",
    "  Count.",
    "",
    "10:00:00  general, m1",
    '  ⚙ bash {"command":"ls\\nrm"}  error: denied',
    "  There are 12.",
    "",
    "  Indeed.",
    "",
    "10:00:00  general, m1",
    "  overloaded",
    "",
  ]);
});

test("as JSON it is what the API has, and messages of an unknown form are left out otherwise", async () => {
  const messages = [user, { odd: true }, null];
  const logs = await withLogs(messages);
  expect(JSON.parse((await logs("--json")).out)).toEqual(messages);
  expect((await logs()).out).toMatch(/user\n {2}Count\.\n$/);
  expect(await logs("--json", "--follow")).toMatchObject({
    code: 2,
    error: expect.stringContaining("watch --json"),
  });
});

test("followed, each part is printed once it is done, in order, until the task has ended", async () => {
  const served = await serve();
  const { source, clock } = served;
  const { sessionID } = source.launch();
  const terminal = scriptedTerminal();
  const tell = async (...messages: unknown[]) => {
    source.messages.set(sessionID, messages);
    source.change(sessionID, { description: `change ${messages.length}` });
    await clock.advance(20);
  };
  source.messages.set(sessionID, [user]);
  const ended = runCommand(["logs", sessionID, "--follow", "--data", served.folder], terminal);
  const printed = () => terminal.lines.filter((line) => line.startsWith("  "));
  await vi.waitFor(() => expect(printed()).toEqual(["  Count."]), PATIENCE_MS);
  await tell(user, assistant(false, tool("running"), { ...answer, time: { start: AT, end: AT + 5 } }));
  await tell(user, assistant(false, tool("completed", { title: "Lists files" }), answer));
  await vi.waitFor(() => expect(printed()).toEqual(["  Count.", "  ⚙ bash Lists files  completed"]), PATIENCE_MS);
  source.messages.set(sessionID, [user, assistant(true, tool("completed"), answer)]);
  source.end(sessionID);
  await clock.advance(20);
  expect(await ended).toBe(0);
  expect(printed().slice(2)).toEqual(["  There are 12.", "  Indeed."]);
  expect(terminal.notes).toEqual(["The task is completed."]);
});
