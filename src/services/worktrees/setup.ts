import { type CommandEnd, runShellCommand } from "../platform/shell-command.ts";
import { withoutLocations } from "./git/environment.ts";

/** Milliseconds that the command may take: a large project's packages take minutes. */
const TIME_LIMIT_MS = 600_000;

/** Characters of its output that an error carries: its end says why it failed. */
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

/** Why a worktree is not prepared; undefined where it is. */
const problemOf = ({ end, exit }: CommandEnd, { signal }: Setup): string | undefined => {
  if (signal.aborted) return "was aborted";
  if (end === "timedOut") return `took longer than ${TIME_LIMIT_MS / 60_000} minutes`;
  if (end === "notRun") return "could not be started";
  return exit === 0 ? undefined : `ended with ${exit}`;
};

/**
 * Prepares a worktree by a command, with its working directory in the worktree.
 * @throws Error with the end of its output when it fails
 */
export const runSetup = async (setup: Setup): Promise<void> => {
  const { command, directory, source, signal } = setup;
  const env = { ...withoutLocations(), TASKCHART_SOURCE: source };
  const ended = await runShellCommand({ command, directory, timeoutMs: TIME_LIMIT_MS, env, signal });
  const problem = problemOf(ended, setup);
  if (problem === undefined) return;
  const words = ended.output.trim().slice(-OUTPUT_CHARS);
  throw new Error(`its setup command ${problem}${words === "" ? "" : `: ${words}`}`);
};
