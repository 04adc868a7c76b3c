import { chmodSync, mkdirSync, statSync } from "node:fs";

/** What others than the owner may do, in a file's mode. */
const OTHERS = 0o077;

/**
 * Makes the folder where it is not there, for its owner alone. One that was there before, wider, is narrowed: returns true
 * then. Windows has no such modes.
 */
export const makePrivateFolder = (folder: string): boolean => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (process.platform === "win32" || (statSync(folder).mode & OTHERS) === 0) return false;
  chmodSync(folder, 0o700);
  return true;
};
