import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { CommandError, EXIT } from "../../src/cli/command.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import type { Terminal } from "../../src/cli/terminal.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** What a command left. */
export interface Ended {
  code: number;
  out: string;
  error: string;
}

/** Does what a command line asks for, in this process: as `opencode-taskchart` does, but sooner. */
export const commandHere = async (args: string[]): Promise<Ended> => {
  const out: string[] = [];
  const terminal: Terminal = { columns: 100, style: (_, text) => text, print: (...lines) => void out.push(...lines) };
  const ended = (code: number, error: string) => ({ code, out: out.map((line) => `${line}\n`).join(""), error });
  try {
    return ended(await runCommand(args, terminal), "");
  } catch (error) {
    if (error instanceof CommandError) return ended(EXIT.failed, `${error.message}\n`);
    throw error;
  }
};

/** Runs `opencode-taskchart` as a process of this runtime, as a person does whose output goes to a pipe. */
export const opencodeTaskchart = async (args: string[], env: Record<string, string> = {}): Promise<Ended> => {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, TZ: "UTC", NO_COLOR: "", FORCE_COLOR: "", ...env },
  });
  const [out, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: Number(code), out, error };
};
