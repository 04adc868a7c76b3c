import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** The folder of the plugin's data: `$XDG_DATA_HOME/opencode-taskchart`, or `~/.local/share/opencode-taskchart`. */
export const dataFolder = (env: Readonly<Record<string, string | undefined>> = process.env): string => {
  const given = env.XDG_DATA_HOME;
  // By the XDG base directory specification, a relative path is invalid and must be ignored.
  const base = given && isAbsolute(given) ? given : join(homedir(), ".local", "share");
  return join(base, "opencode-taskchart");
};
