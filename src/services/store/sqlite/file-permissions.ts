import { chmodSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { errorMessage } from "../../platform/log.ts";

/** What was done so that files are their user's alone. */
export interface PermissionChanges {
  /** Those that others of the machine could read or write before. */
  tightened: string[];
  /** Those that they still can, since the system refuses to change it: another user's, for instance. */
  refused: { path: string; reason: string }[];
}

/** The bits of a mode that concern anybody but the owner. */
const OTHERS = 0o077;

const isOpen = (path: string, kind: "file" | "folder"): boolean => {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats || (stats.mode & OTHERS) === 0) return false;
  return kind === "file" ? stats.isFile() : stats.isDirectory();
};

/**
 * Takes a database file, all that belongs to it (its log of changes, what was set aside) and its folder away from other
 * users of the machine: conversations stand in them. On Windows the user's own folders say who may read. Only tests
 * give a `chmod`.
 */
export const restrictToOwner = (
  path: string,
  chmod: (path: string, mode: number) => void = chmodSync,
): PermissionChanges => {
  const done: PermissionChanges = { tightened: [], refused: [] };
  if (process.platform === "win32") return done;

  const close = (target: string, kind: "file" | "folder") => {
    try {
      if (!isOpen(target, kind)) return;
      chmod(target, kind === "file" ? 0o600 : 0o700);
      done.tightened.push(target);
    } catch (error) {
      done.refused.push({ path: target, reason: errorMessage(error) });
    }
  };

  const folder = dirname(path);
  close(folder, "folder");
  for (const name of namesIn(folder)) if (name.startsWith(basename(path))) close(join(folder, name), "file");
  return done;
};

const namesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder);
  } catch {
    // Whether it can be used at all shows when the file is opened.
    return [];
  }
};
