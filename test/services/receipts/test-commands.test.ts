import { describe, expect, test } from "vitest";
import { testsOf } from "../../../src/services/receipts/run-tally.ts";

describe("a command that runs tests", () => {
  test.each([
    "npm test",
    "npm t",
    "npm run test:unit -- --run",
    "npm --silent run test",
    "pnpm test",
    "yarn test",
    "bun test a.test.ts",
    "npx vitest run test/a.test.ts",
    "node_modules/.bin/vitest run",
    "node --test",
    "CI=1 pytest -q",
    "python -m pytest",
    "uv run pytest",
    "cargo test --all",
    "cargo +nightly nextest run",
    "go test ./...",
    "bundle exec rspec",
    "./gradlew :app:test",
    "mvn -q verify",
    "dotnet test",
    "make check",
    "time npm test",
    "timeout 60 npm test",
    "cd packages/a && npm test",
    "npm ci\nnpm test".replace("\n", " && "),
    "npm test 2>&1",
  ])("passed where it exited with 0, and failed otherwise: %s", (command) => {
    expect(testsOf(command, 0)).toBe("passed");
    expect(testsOf(command, 1)).toBe(command.includes("&&") ? "unclear" : "failed");
    expect(testsOf(command, undefined)).toBe("unclear");
  });

  test.each(["npm test | tail -5", "npm test; echo done", "npm test || true", "npm test &", "npm test\necho done"])(
    "has no outcome that its exit code would show: %s",
    (command) => {
      expect(testsOf(command, 0)).toBe("unclear");
      expect(testsOf(command, 1)).toBe("unclear");
    },
  );

  test("failed where every command of the line runs tests", () => {
    expect(testsOf("npm test && pytest", 1)).toBe("failed");
  });
});

test.each([
  "ls test",
  "echo npm test",
  "cat package.json # npm test",
  "git commit -m 'npm test'",
  "npm install",
  "npm run testing-tools-build",
  "make testdata",
  "vitest-config-check",
  "test -f a.ts",
  "",
])("a command that runs none says nothing of tests: %s", (command) => {
  expect(testsOf(command, 0)).toBeUndefined();
});
