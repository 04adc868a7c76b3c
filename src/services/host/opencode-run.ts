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

/** True if this process is `opencode run`, which has no user to answer anything and ends with its agent's first answer. */
export const isOpencodeRun = (argv: readonly string[] = process.argv): boolean => {
  const words = argv.slice(2);
  const command = words.find((word, index) => !word.startsWith("-") && !OPTIONS_WITH_VALUE.has(words[index - 1] ?? ""));
  return command === "run";
};
