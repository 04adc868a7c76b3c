import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { CommandError } from "../../src/cli/command.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { scriptedTerminal } from "./scripted-terminal.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** What a command left. */
export interface Ended {
  code: number;
  out: string;
  error: string;
}

/** Does what a command line asks for, in this process: as `opencode-taskchart` does, but sooner. */
export const commandHere = async (
  args: string[],
  size: Parameters<typeof scriptedTerminal>[0] = {},
): Promise<Ended> => {
  const terminal = scriptedTerminal(size);
  const ended = (code: number, error: string) => ({
    code,
    out: terminal.lines.map((line) => `${line}\n`).join(""),
    error: [...terminal.notes.map((line) => `${line}\n`), error].join(""),
  });
  try {
    return ended(await runCommand(args, terminal), "");
  } catch (error) {
    if (error instanceof CommandError) return ended(error.code, `${error.message}\n`);
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
