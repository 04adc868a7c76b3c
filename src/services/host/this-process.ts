/** OpenCode's options (1.18.33) that may come before a command and take a value. */
const OPTIONS_WITH_VALUE: ReadonlySet<string> = new Set([
  "--log-level",
  "--port",
  "--hostname",
  "--mdns-domain",
  "--cors",
  "-m",
  "--model",
  "-s",
  "--session",
  "--prompt",
  "--agent",
  "--replay-limit",
]);

/** The command that this process is: undefined where it has none, and for a folder in its place too. */
const commandOf = (argv: readonly string[]): string | undefined =>
  argv.slice(2).find((word, index, words) => !word.startsWith("-") && !OPTIONS_WITH_VALUE.has(words[index - 1] ?? ""));

/**
 * Through what a person sees the sessions of this process.
 * - `terminal`: OpenCode's own terminal interface, which shows what direct children of the session in view ask
 * - `editor`: `opencode acp`. An editor is shown nothing but what the agents of its own sessions say and do
 * - `clients`: any others, of which each shows what it likes: messages of a conversation, at the least
 */
export type Interface = "terminal" | "editor" | "clients";

/** Returns the interface of this process. Outside Bun, it is OpenCode's desktop app. */
export const interfaceOf = (
  argv: readonly string[] = process.argv,
  isBun: boolean = process.versions.bun !== undefined,
): Interface => {
  const command = commandOf(argv);
  if (command === "acp") return "editor";
  return isBun && command !== "serve" && command !== "web" ? "terminal" : "clients";
};

/** True if this process is `opencode run`, which has no user to answer anything and ends with its agent's first answer. */
export const isOpencodeRun = (argv: readonly string[] = process.argv): boolean => commandOf(argv) === "run";

/**
 * True in development mode (`NODE_ENV=development`). Reads the variable at each call, by a computed name: a bundler
 * would replace `process.env.NODE_ENV` with its own value.
 */
export const isDevelopment = (environment: NodeJS.ProcessEnv = process.env): boolean => {
  const name = "NODE_ENV";
  return environment[name] === "development";
};
