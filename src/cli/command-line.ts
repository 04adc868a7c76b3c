/** A word as a shell takes it. */
const quoted = (path: string): string => (/^[\w@%+=:,./\\-]+$/.test(path) ? path : `"${path.replaceAll('"', '\\"')}"`);

/**
 * How the command in that file is called in a terminal, wherever that is open. Its name alone is in nobody's path where
 * OpenCode has installed the package, or loads it from a folder.
 */
export const commandLine = (file: string): string => `node ${quoted(file)}`;
