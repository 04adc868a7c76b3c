/**
 * What was looked at, and how it is:
 * - `ok`: as it should be
 * - `note`: not as usual, and nothing is wrong
 * - `wrong`: something does not work, or will not
 * - `unknown`: it could not be looked at
 */
export interface Check {
  about: "runtime" | "OpenCode" | "folder" | "database" | "processes" | "server" | "port" | "options";
  state: "ok" | "note" | "wrong" | "unknown";
  /** What was found, a sentence or a few words each. */
  found: string[];
  /** What to do about it. */
  advice?: string;
}

/** What checks look at. */
export interface Examined {
  /** The plugin's data folder. */
  folder: string;
  /** The folder that the command was called in: OpenCode's options may differ from folder to folder. */
  directory: string;
  env: NodeJS.ProcessEnv;
}
