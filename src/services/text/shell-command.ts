/** A path as a shell takes it, whatever stands in it. */
const quoted = (path: string, platform: string): string => {
  if (platform === "win32") return /^[\w@%+=:,./\\-]+$/.test(path) ? path : `"${path}"`;
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
};

/**
 * How the command in that file is called in a terminal, wherever that is open. Its name alone is in nobody's path where
 * OpenCode has installed the package, or loads it from a folder.
 */
export const shellCommand = (file: string, platform: string = process.platform): string =>
  `node ${quoted(file, platform)}`;
