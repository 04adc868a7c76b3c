import { readdirSync, readlinkSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { type ProcessIdentity, thisProcessIdentity } from "../platform/process-identity.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The name of the database that OpenCode's releases use unless they are told otherwise. */
export const DEFAULT_DATABASE = "opencode.db";

/** What the names of databases in memory begin with; each is gone with its process. */
export const IN_MEMORY = ":memory:";

const attempt = <T>(read: () => T, otherwise: T): T => {
  try {
    return read();
  } catch {
    // It is not there, or not any more.
    return otherwise;
  }
};

/** The files that this process has open, where its system lists them: Linux does. */
const openFiles = (): string[] =>
  attempt(() => readdirSync("/proc/self/fd"), []).flatMap((descriptor) =>
    attempt(() => [readlinkSync(`/proc/self/fd/${descriptor}`)], []),
  );

const real = (path: string): string => attempt(() => realpathSync(path), path);

/** Builds of other release channels have files of their own. Which channel a build is of, only its open files tell. */
const ofChannel = (folder: string, open: readonly string[]): string => {
  const names = open.filter((path) => dirname(path) === real(folder)).map((path) => basename(path));
  const databases = new Set(names.filter((name) => /^opencode(-[\w.-]+)?\.db$/.test(name)));
  const [only = DEFAULT_DATABASE] = databases.size === 1 ? databases : [];
  return only;
};

/**
 * Names the database in which this OpenCode keeps its sessions: an OpenCode with another one does not know them. Within
 * OpenCode's data folder it is the file's name, elsewhere its path, and for a database in memory one that no other
 * process has. OpenCode 1.18 chooses it so: `OPENCODE_DB`, `:memory:` or a path from the data folder; else the file of
 * its release channel there.
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
