// Git is told which repository it works on, and compares trees where nothing is configured: an agent that may only edit files
// could write a worktree's `.git`, and have git run a program by a filter or a hook named there
// (docs/decisions/256-git-runs-nothing-an-agent-wrote.md).
import { spawn } from "node:child_process";
import { delimiter, isAbsolute, join } from "node:path";

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

/** A working tree. Its git directory is named to git, which never looks for one in a folder that an agent wrote. */
export interface WorkingTree {
  /** The folder of its files. */
  top: string;
  /** Its git directory: for a linked worktree a folder below the repository's. */
  gitDir: string;
  /** The git directory that all worktrees of its repository share. */
  commonDir: string;
  /** How its objects are named, such as `sha1`. */
  objectFormat: string;
  /** Settings that apply to this tree whatever the configuration says, such as `core.ignoreCase=false`. */
  settings: readonly string[];
  /** The index that is used in place of the tree's own; absent for that. */
  index?: string;
  /** The folder that takes new objects in place of the repository's own, which it names as its alternate; absent for that. */
  newObjects?: string;
  /** When git is stopped at the latest, epoch milliseconds. Absent: each command has its own `TIME_LIMIT_MS`. */
  endsAt?: number;
}

/** A repository of ours, without files, configuration and attributes of its own, that reads and writes another one's objects. */
export interface ObjectsRepository {
  gitDir: string;
  /** The other repository's objects. */
  objects: string;
}

/** How a git command is run. */
interface GitOptions {
  /** Exit codes that are answers, beside 0. Default: none. */
  answers?: readonly number[];
  /** Items for its input, each of which is ended with a zero: bytes, one character each. Or an open file. Default: no input. */
  input?: readonly string[] | number;
  /** An open file that takes its output. Default: the answer has it. */
  output?: number;
  /** Milliseconds after which it is stopped, with all that it has started. Default: `TIME_LIMIT_MS`. Only tests pass it. */
  timeLimitMs?: number;
}

/** What a git command answered. */
interface GitAnswer {
  code: number;
  stdout: Buffer;
}

/** Milliseconds after which a git command is stopped. Ten thousand files take 0.6 s to write (measured). */
const TIME_LIMIT_MS = 120_000;

/** Milliseconds from the request to end to the end by force. */
const GRACE_MS = 1_000;

/**
 * Milliseconds after which the answer of a git command that has ended is complete: a program that it has left running, such as
 * an ssh connection to be shared, may keep its outputs open, and write to them.
 */
const OUTPUT_GRACE_MS = 1_000;

/** How git begins a line that says what is wrong. */
const FAULT = /^(fatal|error): /;

/** Faults or paths that an error names: there may be one for each file. */
const NAMED = 3;

/** Returns the first of these, and how many more there are, as a part of a sentence. */
export const firstOf = (all: readonly string[], separator = ", "): string =>
  [...all.slice(0, NAMED), ...(all.length > NAMED ? [`and ${all.length - NAMED} more`] : [])].join(separator);

/** Characters of git's own words that an error carries. */
const ERROR_CHARS = 500;

/** What git says is wrong, on one line: its warnings and hints are left out. */
const sentenceOf = (stderr: string): string => {
  const lines = stderr.split("\n").filter((line) => line.trim() !== "");
  const faults = lines.filter((line) => FAULT.test(line)).map((line) => line.replace(FAULT, ""));
  const sentence = faults.length > 0 ? firstOf(faults, "; ") : (lines.at(-1) ?? "it gave no reason");
  return sentence.slice(0, ERROR_CHARS);
};

/** Where a git command runs: what is written before the command, and its environment. */
interface Call {
  directory: string;
  settings: readonly string[];
  environment: NodeJS.ProcessEnv;
}

const run = (
  { directory, settings, environment }: Call,
  args: readonly string[],
  { answers = [], input, output, timeLimitMs = TIME_LIMIT_MS }: GitOptions,
): Promise<GitAnswer> =>
  new Promise((resolve, reject) => {
    const child = spawn("git", [...settings, ...args], {
      cwd: directory,
      env: environment,
      stdio: [typeof input === "object" ? "pipe" : (input ?? "ignore"), output ?? "pipe", "pipe"],
      // In a process group of its own, so that the programs which git has started are stopped with it.
      detached: true,
    });
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    let whyStopped = "";
    const signalAll = (signal: NodeJS.Signals) => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, signal);
      } catch {
        // All of them have ended.
      }
    };
    const limit = setTimeout(() => {
      whyStopped = `git ${args[0]} was stopped after ${timeLimitMs / 1000} s`;
      // Git removes its lock files first, which would be in the way of a person's own git.
      signalAll("SIGTERM");
      setTimeout(signalAll, GRACE_MS, "SIGKILL");
    }, timeLimitMs);
    let rest: NodeJS.Timeout | undefined;
    const finish = (code: number | null, signal: NodeJS.Signals | null) => {
      clearTimeout(limit);
      clearTimeout(rest);
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
      if (code === null) return reject(new GitError(whyStopped || `git ${args[0]} was stopped by ${signal}`));
      const isAnswer = code === 0 || answers.includes(code);
      if (!isAnswer) return reject(new GitError(sentenceOf(Buffer.concat(stderr).toString()), code));
      resolve({ code, stdout: Buffer.concat(stdout) });
    };
    child.stdout?.on("data", (piece) => stdout.push(piece));
    child.stderr?.on("data", (piece) => stderr.push(piece));
    // Git may end before it has read everything: its exit code says what became of it.
    child.stdin?.on("error", () => undefined);
    if (typeof input === "object") child.stdin?.end(Buffer.from(input.map((item) => `${item}\0`).join(""), "latin1"));
    child.on("error", (error) => {
      clearTimeout(limit);
      reject(new GitError(`git could not be started: ${error.message}`));
    });
    child.on("exit", (code, signal) => {
      clearTimeout(limit);
      // All that git wrote has been read one turn later, also where this process has stood still until now.
      rest = setTimeout(() => setImmediate(finish, code, signal), OUTPUT_GRACE_MS);
    });
    child.on("close", finish);
  });

/**
 * Runs git in a working tree, without a shell.
 * @throws GitError when it cannot be started, takes too long, or ends with a code that is no answer
 */
export const git = (tree: WorkingTree, args: readonly string[], options: GitOptions = {}): Promise<GitAnswer> => {
  const { top, gitDir, settings, index, newObjects, endsAt } = tree;
  const places = [`--git-dir=${gitDir}`, `--work-tree=${top}`, ...settings.flatMap((setting) => ["-c", setting])];
  const environment = {
    ...gitEnvironment(),
    ...(index === undefined ? {} : { GIT_INDEX_FILE: index }),
    ...(newObjects === undefined ? {} : { GIT_OBJECT_DIRECTORY: newObjects }),
  };
  const limit = endsAt === undefined ? {} : { timeLimitMs: Math.max(1, endsAt - Date.now()) };
  return run({ directory: top, settings: [...settingArguments, ...places], environment }, args, {
    ...limit,
    ...options,
  });
};

/** Has git look for the repository of a person's directory, and asks it there. @throws GitError as `git` does */
export const gitAt = (directory: string, args: readonly string[]): Promise<GitAnswer> =>
  run({ directory, settings: settingArguments, environment: gitEnvironment() }, args, {});

/**
 * Asks git about objects alone: no configuration, no attribute and no file of any tree has a say in the answer.
 * @throws GitError as `git` does
 */
export const gitOnObjects = (
  { gitDir, objects }: ObjectsRepository,
  args: readonly string[],
  options: GitOptions = {},
): Promise<GitAnswer> => {
  const settings = [`--git-dir=${gitDir}`, "-c", "core.attributesFile=/dev/null"];
  const environment = { ...bareEnvironment(), GIT_OBJECT_DIRECTORY: objects };
  return run({ directory: gitDir, settings, environment }, args, options);
};

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

/** Variables that say where a person's configuration is, and how remotes are reached. All others change what git does. */
const KEPT =
  /^GIT_(CONFIG_(GLOBAL|SYSTEM|NOSYSTEM|COUNT|KEY_\d+|VALUE_\d+)|SSH|SSH_COMMAND|SSH_VARIANT|SSL_\w+|HTTP_\w+|ASKPASS|PROXY_\w+|ALLOW_PROTOCOL|CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM)$/;

/** Commits of ours need an author where the user has configured none. They are on no branch. */
const IDENTITY = {
  GIT_AUTHOR_NAME: "opencode-taskchart",
  GIT_AUTHOR_EMAIL: "opencode-taskchart@localhost",
  GIT_COMMITTER_NAME: "opencode-taskchart",
  GIT_COMMITTER_EMAIL: "opencode-taskchart@localhost",
};

/** Returns the environment of the process, without the variables that would lead git to another repository. */
export const withoutLocations = (env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !LOCATIONS.includes(name)));

/** A folder that is named relatively would be looked for in the tree that git works on, among files that an agent wrote. */
const absoluteOnly = (path = ""): string => path.split(delimiter).filter(isAbsolute).join(delimiter);

/** The environment in which git reads a person's configuration: that of the process, without what changes git's answers or programs. */
const gitEnvironment = (): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(
    Object.entries(process.env)
      .filter(([name]) => !name.startsWith("GIT_") || KEPT.test(name))
      .map(([name, value]) => [name, name.toUpperCase() === "PATH" ? absoluteOnly(value) : value]),
  ),
  ...IDENTITY,
  LC_ALL: "C",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_NO_REPLACE_OBJECTS: "1",
});

/** The environment in which git reads no configuration but that of its repository. */
const bareEnvironment = (): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(gitEnvironment()).filter(([name]) => !name.startsWith("GIT_CONFIG_"))),
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
});

/**
 * What a person's configuration would change in git's answers, or have it run. What says how a file's bytes become an
 * object and come back stays theirs: line ends, encodings, filters, links, and which files git ignores.
 */
const SETTINGS = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.untrackedCache=false",
  "core.splitIndex=false",
  "core.ignoreStat=false",
  "core.trustctime=true",
  "core.checkStat=default",
  "core.safecrlf=false",
  "core.protectHFS=true",
  "core.protectNTFS=true",
  "add.ignoreErrors=false",
  "sparse.expectFilesOutsideOfPatterns=false",
  "submodule.recurse=false",
  "diff.ignoreSubmodules=none",
  "i18n.commitEncoding=UTF-8",
  "gc.auto=0",
  "maintenance.auto=false",
];

/** The arguments with which each git command in a person's repository begins. */
const settingArguments: readonly string[] = SETTINGS.flatMap((setting) => ["-c", setting]);

/** Returns the line that git printed, without its end. */
export const lineOf = ({ stdout }: GitAnswer): string => stdout.toString().replace(/\r?\n$/, "");

/** Splits what git printed with `-z`: each item ends with a zero. */
export const items = ({ stdout }: GitAnswer): string[] => stdout.toString().split("\0").slice(0, -1);

/** The same as bytes, one character each: a file's name need not be text. */
export const byteItems = ({ stdout }: GitAnswer): string[] => stdout.toString("latin1").split("\0").slice(0, -1);

/** What some file systems leave out of a name. */
const INVISIBLE = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/** A name that is `.git` on some file system: git takes it into no tree. */
const GIT_FOLDER = /^(?:\.git|git~1)[ .]*(?:[:\\].*)?$/i;

/** Reads a path that is written as bytes, one character each. */
export const decodePath = (bytes: string): string => Buffer.from(bytes, "latin1").toString();

/**
 * Returns the part of a path up to the folder or file whose name git takes into no tree, such as `.GIT`; undefined where
 * there is none. Paths are bytes, one character each.
 */
export const refusedPart = (path: string): string | undefined => {
  const parts = path.split("/");
  const at = parts.findIndex((part) => GIT_FOLDER.test(decodePath(part).replace(INVISIBLE, "")));
  return at === -1 ? undefined : parts.slice(0, at + 1).join("/");
};

/** True for a path, as bytes, that is text. */
export const isText = (path: string): boolean => Buffer.from(decodePath(path)).toString("latin1") === path;

/** Returns the paths as people read them, each once and in order. */
export const readable = (paths: readonly string[]): string[] => [...new Set(paths.map(decodePath))].sort();

/** Returns a path below a folder, as bytes that the file system takes. */
export const bytesOf = (folder: string, path: string): Buffer =>
  Buffer.concat([Buffer.from(join(folder, "/")), Buffer.from(path, "latin1")]);
