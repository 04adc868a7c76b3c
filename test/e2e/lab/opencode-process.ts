import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Home } from "./home.ts";

/** One running `opencode` with its output captured. */
export type OpenCodeProcess = {
  child: ChildProcess;
  pid: number;
  stdout(): string;
  stderr(): string;
  /** What it printed, and what its log files in the home say. */
  log(): string;
  /** Resolves when it has exited: the code, or null when a signal ended it. */
  exited: Promise<number | null>;
  /** SIGTERM, and SIGKILL when that has not helped after 3 s; resolves when it has exited. */
  stop(): Promise<void>;
  /** SIGKILL, as in a crash; resolves when it has exited. */
  kill(): Promise<void>;
};

/** OpenCode's executable: the one that this project installs, or, to try another version, the one in `OPENCODE`. */
export const executable =
  process.env.OPENCODE ?? fileURLToPath(new URL("../../../node_modules/.bin/opencode", import.meta.url));

/** Milliseconds that a SIGTERM gets. */
const graceMs = 3000;

/** Starts the released OpenCode with these arguments in this home. */
export function spawnOpenCode(args: string[], { home, project, env }: Home): OpenCodeProcess {
  // Standard input is closed because `opencode run` reads it when it is not a terminal.
  const child = spawn(executable, args, { cwd: project, env, stdio: ["ignore", "pipe", "pipe"] });
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${executable} does not start; has npm install been run?`);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });

  // A test run that ends without stopping it must not leave it behind.
  const killAtExit = () => child.kill("SIGKILL");
  process.once("exit", killAtExit);
  // "close" comes when the output has been read to its end as well.
  const exited = once(child, "close").then(([code]: (number | null)[]) => {
    process.off("exit", killAtExit);
    return code ?? null;
  });

  async function end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    child.kill(signal);
    const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
    await exited;
    clearTimeout(timer);
  }

  return {
    child,
    pid,
    stdout: () => stdout,
    stderr: () => stderr,
    log: () => [stdout, stderr, ...logFiles(home)].join("\n"),
    exited,
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
  };
}

function logFiles(home: string): string[] {
  const folder = join(home, "data", "opencode", "log");
  try {
    return readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
  } catch {
    // It died before it made the folder: then there is no log to show.
    return [];
  }
}
