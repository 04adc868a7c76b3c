import type { Terminal } from "./terminal.ts";

/** What a command's exit code says. */
export const EXIT = {
  ok: 0,
  /** The journal leads elsewhere than the stored snapshot. */
  differs: 1,
  /** It could not be done: a wrong command line, no such task, a file that cannot be read or written. */
  failed: 2,
  /** The journal does not go back to the launch, so there is nothing to compare. */
  incomplete: 3,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** One word after `opencode-taskchart`, and what it does. */
export interface Command {
  /** In a few words, for the list of commands. */
  summary: string;
  /** All that there is to say of it. */
  help: string;
  /** Throws `CommandError` when it cannot be done. */
  run(args: string[], screen: Terminal): ExitCode | Promise<ExitCode>;
}

/** What was wrong, and what to do instead: for the person, without a stack. */
export class CommandError extends Error {
  override name = "CommandError";
}
