import type { RanCommand } from "../../receipt.ts";

/** The first words of commands that run tests, in the tools of the larger languages. */
const RUNNERS = [
  String.raw`(?:npm|pnpm|yarn|bun|deno)\s+(?:-\S+\s+)*(?:run\s+)?(?:-\S+\s+)*(?:t|test)(?::\S+)?`,
  String.raw`(?:npx|bunx|pnpm\s+exec|pnpm\s+dlx|yarn\s+exec|yarn)\s+(?:vitest|jest|mocha|ava|playwright\s+test)`,
  String.raw`(?:\S*/)?(?:vitest|jest|mocha|ava)`,
  String.raw`node\s+(?:-\S+\s+)*--test`,
  String.raw`(?:\S*/)?(?:pytest|tox|nox)`,
  String.raw`python3?\s+-m\s+(?:pytest|unittest)`,
  String.raw`(?:poetry|uv|pipenv|hatch)\s+run\s+(?:pytest|tox)`,
  String.raw`cargo\s+(?:\+\S+\s+)?(?:test|nextest\s+run)`,
  String.raw`go\s+test`,
  String.raw`(?:bundle\s+exec\s+)?(?:rspec|rake\s+(?:test|spec))`,
  String.raw`(?:\S*/)?phpunit`,
  String.raw`(?:\S*/)?(?:mvnw?|gradlew?)\s+(?:\S+\s+)*(?:\S*:)?(?:test|check|verify)`,
  String.raw`dotnet\s+test`,
  String.raw`swift\s+test`,
  String.raw`mix\s+test`,
  String.raw`make\s+(?:\S+\s+)*(?:test|check)`,
  "ctest",
];

/** What may stand before the command itself: settings of variables, and commands that run another one. */
const BEFORE = String.raw`(?:\w+=\S*\s+)*(?:(?:time|env|sudo|timeout\s+\S+)\s+)*(?:\w+=\S*\s+)*`;

const RUNS_TESTS = new RegExp(String.raw`^${BEFORE}(?:${RUNNERS.join("|")})(?![\w-])`);

/** Where the shell starts another command: whatever stands in quotation marks there only makes a verdict less sure. */
const SEPARATOR = /\|\||&&|[;|&\n]/;

/** Redirections such as `2>&1` start no command. */
const REDIRECTION = /\d?>&\d|&>>?/g;

/**
 * Returns what a shell command's exit code shows of the tests that it runs; undefined for a command that runs none. Where the
 * command goes on after the tests in any way but `&&`, its exit code may be that of something else.
 */
export const testsOf = (command: string, exit: number | undefined): RanCommand["tests"] => {
  const bare = command.replaceAll(REDIRECTION, " ");
  const runsTests = bare.split(SEPARATOR).map((part) => RUNS_TESTS.test(part.trim()));
  if (!runsTests.includes(true)) return undefined;
  const others = bare.replaceAll("&&", " ");
  if (exit === undefined || SEPARATOR.test(others.trim())) return "unclear";
  if (exit === 0) return "passed";
  // Of several commands in a row, another one may have failed.
  return runsTests.every(Boolean) ? "failed" : "unclear";
};
