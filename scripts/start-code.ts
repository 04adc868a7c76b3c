import { readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

/** A static import of a file next to the one that imports it, as the bundler writes it; not `import("./…")`. */
const STATIC_IMPORT = /\b(?:from|import)\s*"(\.\/[^"]+)"/g;

/** Returns the built files that are loaded with `entry`: it, and all that it imports other than by `import()`. */
const loadedWith = (entry: string, loaded = new Set<string>()): Set<string> => {
  if (loaded.has(entry)) return loaded;
  loaded.add(entry);
  for (const [, name = ""] of readFileSync(entry, "utf8").matchAll(STATIC_IMPORT)) {
    loadedWith(join(dirname(entry), name), loaded);
  }
  return loaded;
};

/** Returns the kilobytes of code that are loaded with a built file. */
export const kilobytesLoadedWith = (entry: string): number =>
  [...loadedWith(entry)].reduce((sum, file) => sum + statSync(file).size, 0) / 1_000;
