import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** The folder of the plugin's data: `$XDG_DATA_HOME/opencode-taskchart`, or `~/.local/share/opencode-taskchart`. */
export const dataFolder = (env: Readonly<Record<string, string | undefined>> = process.env): string => {
  const given = env.XDG_DATA_HOME;
  // By the XDG base directory specification, a relative path is invalid and must be ignored.
  const base = given && isAbsolute(given) ? given : join(homedir(), ".local", "share");
  return join(base, "opencode-taskchart");
};

/** The bits of a file mode that give anybody but the owner access. */
const OTHERS = 0o077;

/**
 * Takes a file or folder away from other users of the machine. Returns true when they had access until now; false when
 * they had none, or there is nothing of that kind at `path`. Windows has no such modes: always false there.
 * Only tests pass a `chmod`.
 *
 * @throws when the system refuses, for instance because the file belongs to another user.
 */
export const makePrivate = (
  path: string,
  kind: "file" | "folder",
  chmod: (path: string, mode: number) => void = chmodSync,
): boolean => {
  if (process.platform === "win32") return false;
  const stats = statSync(path, { throwIfNoEntry: false });
  const isExpected = kind === "file" ? stats?.isFile() : stats?.isDirectory();
  if (!stats || !isExpected || (stats.mode & OTHERS) === 0) return false;
  chmod(path, kind === "file" ? 0o600 : 0o700);
  return true;
};

/**
 * Creates the folder, for its owner alone, where it does not exist. Returns true when it existed and others had access
 * to it until now.
 *
 * @throws when the folder cannot be created or its mode cannot be changed.
 */
export const makePrivateFolder = (folder: string): boolean => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return makePrivate(folder, "folder");
};

/** The name that a file has while it is written: another one each time, since several processes may write it at once. */
const draftOf = (file: string): string => `${file}.${randomUUID()}`;

/**
 * Writes a file, for its owner alone, as a whole: a reader finds the old one or the new one.
 *
 * @throws when it cannot be written; nothing is left of it then
 */
export const writeWhole = (file: string, text: string): void => {
  const draft = draftOf(file);
  try {
    writeFileSync(draft, text, { mode: 0o600 });
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
};

/**
 * The same of a file that `write` writes, under the name that it is given.
 *
 * @throws what `write` throws; nothing is left of the file then
 */
export const writeWholeWith = async (file: string, write: (draft: string) => Promise<void>): Promise<void> => {
  const draft = draftOf(file);
  try {
    await write(draft);
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
};
