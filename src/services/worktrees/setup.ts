import { spawn } from "node:child_process";
import { withoutLocations } from "./git/git.ts";

/** Milliseconds that the command may take: a large project's packages take minutes. */
const TIME_LIMIT_MS = 600_000;

/** Characters of its output that are kept: its end says why it failed. */
const OUTPUT_CHARS = 500;

/** How a worktree is prepared. */
export interface Setup {
  /** A shell command from the configuration. */
  command: string;
  /** The worktree. */
  directory: string;
  /** The top of the tree that it was made from. */
  source: string;
  /** Ends the command. */
  signal: AbortSignal;
}

/**
 * Prepares a worktree by a command, with its working directory in the worktree. Ends with it all that it began, where it is
 * aborted or takes too long.
 * @throws Error with the end of its output when it fails
 */
export const runSetup = ({ command, directory, source, signal }: Setup): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn("/bin/sh", ["-c", command], {
      cwd: directory,
      env: { ...withoutLocations(), TASKCHART_SOURCE: source },
      // A process group of its own, which can be ended as a whole.
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    let ending: string | undefined;
    const keep = (piece: Buffer) => {
      output = (output + piece.toString()).slice(-OUTPUT_CHARS);
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    const end = (why: string) => {
      ending = why;
      const hasEnded = child.exitCode !== null || child.signalCode !== null;
      if (child.pid !== undefined && !hasEnded) process.kill(-child.pid, "SIGKILL");
    };
    const timer = setTimeout(() => end(`took longer than ${TIME_LIMIT_MS / 60_000} minutes`), TIME_LIMIT_MS);
    const abort = () => end("was aborted");
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    const settle = (problem: string | undefined) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      if (problem === undefined) return resolve();
      const words = output.trim();
      reject(new Error(`its setup command ${problem}${words === "" ? "" : `: ${words}`}`));
    };
    child.on("error", (error) => settle(`could not be started: ${error.message}`));
    // Not its output's end: what it leaves running may keep that open.
    child.on("exit", (code, ended) => {
      setImmediate(() => settle(ending ?? (code === 0 ? undefined : `ended with ${code ?? ended}`)));
    });
  });
