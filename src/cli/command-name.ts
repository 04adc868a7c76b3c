import { fileURLToPath } from "node:url";

/** A word as a shell takes it. */
const quoted = (path: string): string => (/^[\w@%+=:,./\\-]+$/.test(path) ? path : `"${path.replaceAll('"', '\\"')}"`);

/**
 * How this package's command is called in a terminal: by its name where it was installed as a package, and by its file
 * where it is a folder that `opencode.json` names. `module` is the URL of a module in `src` or `dist`.
 */
export const commandName = (module: string): string => {
  const file = fileURLToPath(new URL("../dist/cli.js", module));
  return /[\\/]node_modules[\\/]/.test(file) ? "npx opencode-taskchart" : `node ${quoted(file)}`;
};
