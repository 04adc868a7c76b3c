/** True in development mode. Read when asked: a bundler that saw the variable's name would put in its own value. */
export const isDevelopment = (environment: NodeJS.ProcessEnv = process.env): boolean => {
  const name = "NODE_ENV";
  return environment[name] === "development";
};

/** The options of OpenCode (1.18.33) that come before a command and take a value. */
const WITH_VALUE: ReadonlySet<string> = new Set([
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

/** True in `opencode run`, where nobody can answer, and which ends with its agent's first answer. */
export const isOpencodeRun = (argv: readonly string[] = process.argv): boolean => {
  const words = argv.slice(2);
  return words.find((word, index) => !word.startsWith("-") && !WITH_VALUE.has(words[index - 1] ?? "")) === "run";
};
