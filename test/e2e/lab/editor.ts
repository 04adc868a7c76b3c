import { type ChildProcess, spawn } from "node:child_process";
import { type OpenCodeOptions, prepareHome } from "./home.ts";
import { executable } from "./opencode-process.ts";
import { record } from "./recording.ts";

/** A message of the Agent Client Protocol that OpenCode sends to the editor by itself. */
type EditorMessage = { method: string; params: unknown };

/** An editor that OpenCode works for by the Agent Client Protocol. */
export type Editor = {
  /** Calls a method, and resolves to its result. */
  call(method: string, params: object): Promise<Record<string, unknown>>;
  /** All that the agent has said in the editor so far. */
  said(): string;
  /** Resolves once the agent has said something with these words. */
  untilSaid(words: string): Promise<unknown>;
  /** What the editor was asked or shown, by method. */
  messages: readonly EditorMessage[];
  stop(): Promise<void>;
};

const wordsOf = ({ params }: EditorMessage): string => {
  const { update } = params as { update?: { sessionUpdate?: string; content?: { text?: string } } };
  return update?.sessionUpdate === "agent_message_chunk" ? (update.content?.text ?? "") : "";
};

/** Starts `opencode acp` as an editor does. */
export async function startEditor(options: OpenCodeOptions): Promise<Editor> {
  const home = await prepareHome(options);
  const child: ChildProcess = spawn(executable, ["acp"], {
    cwd: home.project,
    env: home.env,
    stdio: ["pipe", "pipe", "ignore"],
  });
  const exited = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const messages = record<EditorMessage>("message", ({ method, params }) => `${method} ${JSON.stringify(params)}`);
  const answers = new Map<number, (result: Record<string, unknown>) => void>();
  let rest = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.trim() === "") continue;
      const message = JSON.parse(line);
      if ("method" in message) messages.add(message);
      else answers.get(message.id)?.(message.result ?? message.error);
    }
  });
  let calls = 0;
  const said = () => messages.all.map(wordsOf).join("");
  return {
    call: (method, params) =>
      new Promise((resolve) => {
        calls += 1;
        answers.set(calls, resolve);
        child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id: calls, method, params })}\n`);
      }),
    said,
    untilSaid: (words) => messages.waitFor(() => said().includes(words)),
    messages: messages.all,
    async stop() {
      child.kill("SIGTERM");
      const killed = setTimeout(() => child.kill("SIGKILL"), 3_000);
      await exited;
      clearTimeout(killed);
      await home.remove();
    },
  };
}
