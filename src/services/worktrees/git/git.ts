// ADR-244 in docs/decisions.md
import { spawn } from "node:child_process";

/** A git command that failed, in git's own words. */
export class GitError extends Error {
  override name = "GitError";
  /** The exit code; undefined where git could not be started, or was stopped at its time limit. */
  readonly code: number | undefined;

  constructor(message: string, code?: number) {
    super(message);
    this.code = code;
  }
}

/** How a git command is run. */
export interface GitOptions {
  /** Variables beside those of the process. */
  env?: Record<string, string>;
  /** Exit codes that are answers, beside 0. Default: none. */
  answers?: readonly number[];
}

/** What a git command answered. */
export interface GitAnswer {
  code: number;
  stdout: string;
}

/** Milliseconds after which a git command is stopped. Ten thousand files take 0.6 s to write (measured). */
const TIME_LIMIT_MS = 120_000;

/** How git begins a line that says what is wrong. */
const FAULT = /^(fatal|error): /;

/** Faults that an error names: there may be one for each file. */
const NAMED = 3;

/** Characters of git's own words that an error carries. */
const ERROR_CHARS = 500;

/** Variables that say which repository git works on: a hook or an editor may have set them for another one. */
const LOCATIONS = [
  "GIT_DIR",
  "GIT_WORK_TREE",
  "GIT_INDEX_FILE",
  "GIT_COMMON_DIR",
  "GIT_OBJECT_DIRECTORY",
  "GIT_ALTERNATE_OBJECT_DIRECTORIES",
  "GIT_NAMESPACE",
  "GIT_PREFIX",
];

/** Commits of ours need an author where the user has configured none. They are on no branch. */
const IDENTITY = {
  GIT_AUTHOR_NAME: "opencode-taskchart",
  GIT_AUTHOR_EMAIL: "opencode-taskchart@localhost",
  GIT_COMMITTER_NAME: "opencode-taskchart",
  GIT_COMMITTER_EMAIL: "opencode-taskchart@localhost",
};

/** No hook runs, nothing is asked, and no line ending or nested repository is only warned about. */
const SETTINGS = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "core.safecrlf=false", "gc.auto=0"];

const settings = SETTINGS.flatMap((setting) => ["-c", setting]);

/** Returns the environment of the process, without the variables that would lead git to another repository. */
export const withoutLocations = (env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !LOCATIONS.includes(name)));

/** What git says is wrong, on one line: its warnings and hints are left out. */
const sentenceOf = (stderr: string): string => {
  const lines = stderr.split("\n").filter((line) => line.trim() !== "");
  const faults = lines.filter((line) => FAULT.test(line)).map((line) => line.replace(FAULT, ""));
  const more = faults.length > NAMED ? `; and ${faults.length - NAMED} more` : "";
  const sentence = faults.length > 0 ? faults.slice(0, NAMED).join("; ") + more : (lines.at(-1) ?? "it gave no reason");
  return sentence.slice(0, ERROR_CHARS);
};

/**
 * Runs git in a directory, without a shell.
 * @throws GitError when it cannot be started, takes too long, or ends with a code that is no answer
 */
export const git = (directory: string, args: readonly string[], options: GitOptions = {}): Promise<GitAnswer> =>
  new Promise((resolve, reject) => {
    const child = spawn("git", [...settings, ...args], {
      cwd: directory,
      env: {
        ...withoutLocations(),
        ...IDENTITY,
        LC_ALL: "C",
        GIT_TERMINAL_PROMPT: "0",
        GIT_OPTIONAL_LOCKS: "0",
        ...options.env,
      },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: TIME_LIMIT_MS,
      killSignal: "SIGKILL",
    });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    child.stdout.on("data", (piece: Buffer) => stdout.push(piece));
    child.stderr.on("data", (piece: Buffer) => stderr.push(piece));
    child.on("error", (error) => reject(new GitError(`git could not be started: ${error.message}`)));
    child.on("close", (code, signal) => {
      if (code === null) return reject(new GitError(`git ${args[0]} was stopped by ${signal}`));
      const isAnswer = code === 0 || (options.answers ?? []).includes(code);
      if (!isAnswer) return reject(new GitError(sentenceOf(Buffer.concat(stderr).toString()), code));
      resolve({ code, stdout: Buffer.concat(stdout).toString() });
    });
  });

/** Returns what a git command printed, without the line end. @throws GitError as `git` does */
export const line = async (directory: string, args: readonly string[], options?: GitOptions): Promise<string> =>
  (await git(directory, args, options)).stdout.trimEnd();

/** Splits what git printed with `-z`: each item ends with a zero. */
export const items = (stdout: string): string[] => stdout.split("\0").slice(0, -1);
