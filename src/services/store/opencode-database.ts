// ADR-055 in docs/decisions.md
import { readdirSync, readlinkSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { type ProcessIdentity, thisProcessIdentity } from "../platform/process-identity.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The name of the database that OpenCode's releases use by default. */
export const DEFAULT_DATABASE = "opencode.db";

/** The prefix of the names of in-memory databases, each of which is gone with its process. */
export const IN_MEMORY = ":memory:";

const attempt = <T>(read: () => T, otherwise: T): T => {
  try {
    return read();
  } catch {
    // It does not exist, or not any more.
    return otherwise;
  }
};

/** Returns the files that this process has open, if the system lists them, as Linux does. */
const openFiles = (): string[] =>
  attempt(() => readdirSync("/proc/self/fd"), []).flatMap((descriptor) =>
    attempt(() => [readlinkSync(`/proc/self/fd/${descriptor}`)], []),
  );

const real = (path: string): string => attempt(() => realpathSync(path), path);

/** Builds of other release channels use other files. Only a build's open files show which channel it is of. */
const ofChannel = (folder: string, open: readonly string[]): string => {
  const names = open.filter((path) => dirname(path) === real(folder)).map((path) => basename(path));
  const databases = new Set(names.filter((name) => /^opencode(-[\w.-]+)?\.db$/.test(name)));
  const [only = DEFAULT_DATABASE] = databases.size === 1 ? databases : [];
  return only;
};

/**
 * Returns a name for the database in which this OpenCode keeps its sessions: an OpenCode with another database does not
 * have them. The name is the file's name within OpenCode's data folder, its path elsewhere, and unique to the process for
 * an in-memory database. OpenCode 1.18 uses `OPENCODE_DB` (`:memory:`, or a path relative to the data folder) if that is
 * set, and else the file of its release channel in the data folder.
 */
export const opencodeDatabase = (
  env: Environment = process.env,
  open: () => readonly string[] = openFiles,
  { pid, machine, startedAt }: ProcessIdentity = thisProcessIdentity,
): string => {
  if (env.OPENCODE_DB === IN_MEMORY) return `${IN_MEMORY} of process ${pid}, started at ${startedAt}, ${machine}`;
  const folder = join(env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "opencode");
  if (!env.OPENCODE_DB) return ofChannel(folder, open());
  const path = real(resolve(folder, env.OPENCODE_DB));
  return dirname(path) === real(folder) ? basename(path) : path;
};
