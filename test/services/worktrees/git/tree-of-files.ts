import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";

/** Returns all that is in a tree of files, but for its git directory: each file's mode and bytes. */
export const treeOfFiles = (top: string, below = ""): string[] =>
  readdirSync(join(top, below), { withFileTypes: true })
    .flatMap((entry) => {
      const path = join(below, entry.name);
      if (path === ".git") return [];
      if (entry.isDirectory()) return [`${path}/`, ...treeOfFiles(top, path)];
      const text = entry.isSymbolicLink() ? readlinkSync(join(top, path)) : readFileSync(join(top, path), "latin1");
      return [`${path} ${lstatSync(join(top, path)).mode.toString(8)} ${text}`];
    })
    .sort();
