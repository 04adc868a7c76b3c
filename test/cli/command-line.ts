import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** What a command left. */
export interface Ended {
  code: number;
  out: string;
  error: string;
}

/** Runs `opencode-taskchart` as a process of this runtime, as a person does whose output goes to a pipe. */
export const opencodeTaskchart = async (args: string[], env: Record<string, string> = {}): Promise<Ended> => {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, TZ: "UTC", NO_COLOR: "", FORCE_COLOR: "", ...env },
  });
  const [out, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  return { code: Number(code), out, error };
};
