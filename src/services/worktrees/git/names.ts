import { join } from "node:path";

/** What some file systems leave out of a name. */
const INVISIBLE = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/** A name that is `.git` on some file system: git takes it into no tree. */
const GIT_FOLDER = /^(?:\.git|git~1)[ .]*(?:[:\\].*)?$/i;

/** Reads a path that is written as bytes, one character each. */
const textOf = (bytes: string): string => Buffer.from(bytes, "latin1").toString();

/**
 * Returns the part of a path up to the folder or file whose name git takes into no tree, such as `.GIT`; undefined where
 * there is none. Paths are bytes, one character each.
 */
export const refusedPart = (path: string): string | undefined => {
  const parts = path.split("/");
  const at = parts.findIndex((part) => GIT_FOLDER.test(textOf(part).replace(INVISIBLE, "")));
  return at === -1 ? undefined : parts.slice(0, at + 1).join("/");
};

/** True for a path, as bytes, that is text. */
export const isText = (path: string): boolean => Buffer.from(textOf(path)).toString("latin1") === path;

/** Returns the paths as people read them, each once and in order. */
export const readable = (paths: readonly string[]): string[] => [...new Set(paths.map(textOf))].sort();

/** Returns a path below a folder, as bytes that the file system takes. */
export const bytesOf = (folder: string, path: string): Buffer =>
  Buffer.concat([Buffer.from(join(folder, "/")), Buffer.from(path, "latin1")]);
