import { describe, expect, test } from "vitest";
import { z } from "zod";
import { Options, optionsError, readOptions } from "../src/options.ts";
import { WRONG_VALUES, withOption } from "./wrong-options.ts";

test("without options every one has its default", () => {
  const fork = { maxToolResultChars: 1_500, maxTokens: 100_000 };
  const defaults = {
    fork,
    prefix: "asyncagents",
    toolsets: ["tasks"],
    permission: "task",
    subtasks: { onParentCancel: "cancel" },
    maxDepth: 3,
    timeouts: { stale: 600_000, provider: 86_400_000, takeover: 300_000 },
    budget: { tasksPerParent: 200 },
    loop: { repeat: 20 },
    concurrency: { default: 10, providers: {}, models: {}, agents: {} },
    worktree: { agents: [], keep: 7 },
    fallback: { agents: {}, after: 60_000 },
    gate: { agents: {}, tries: 2, timeout: 600_000, before: false },
    schema: { agents: {} },
    notice: {},
    list: {},
    reminder: { ended: 0 },
    api: { allowedOrigins: [], reads: "user" },
    attention: {},
    recovery: "continue",
    wake: "each",
    promptCache: 0,
    retention: {},
    inspect: false,
  };
  const read = { options: defaults, problems: [] };
  expect(readOptions(undefined)).toEqual(read);
  expect(readOptions({})).toEqual(read);
  expect(readOptions({ notice: {}, fork: {} })).toEqual(read);
});

interface Schema {
  properties?: Record<string, Schema>;
}

/** The paths of all options, such as `notice.maxResultChars`. */
const pathsOf = ({ properties }: Schema, path: string[] = []): string[] =>
  properties
    ? Object.entries(properties).flatMap(([name, inner]) => pathsOf(inner, [...path, name]))
    : [path.join(".")];

test("wrong values are tried of every option", () => {
  expect(Object.keys(WRONG_VALUES).sort()).toEqual(pathsOf(z.toJSONSchema(Options, { io: "input" }) as Schema).sort());
});

describe.each(Object.entries(WRONG_VALUES))("%s", (path, values) => {
  test.each(values)("%j is named and explained, and the default is used", (value, explanation) => {
    const { options, problems } = readOptions(withOption(path, value));
    expect(options).toEqual(readOptions({}).options);
    expect(problems).toEqual([
      expect.stringMatching(new RegExp(`^option "${path.replaceAll(".", "\\.")}[".].*; the default is used$`)),
    ]);
    expect(optionsError(problems)).toMatch(explanation);
    expect(optionsError(problems)).toMatch(/^opencode-taskchart: in opencode\.json, /);
  });
});

test.each([
  [{ notice: { maxChars: 1 } }, /option "notice\.maxChars": there is no such option/],
  [
    { maxdepth: 1 },
    /option "maxdepth": there is no such option.*Known options: prefix, toolsets, permission, subtasks, maxDepth/,
  ],
  [{ concurrency: { total: 3 } }, /option "concurrency\.total": there is no such option/],
  [{ budget: null }, /option "budget": .*expected object, received null; the default is used/],
  [{ maxDepth: 0, prefix: "" }, /option "prefix".*option "maxDepth"/],
])("%j is a clear error that names the option", (given, message) => {
  const { options, problems } = readOptions(given);
  expect(options).toEqual(readOptions({}).options);
  expect(optionsError(problems)).toMatch(message);
});

test("origins are taken as browsers send them, those of extensions too", () => {
  const allowedOrigins = ["https://dash.example", "http://dash.example:8080", "chrome-extension://abcdef"];
  expect(readOptions({ api: { allowedOrigins } }).options.api.allowedOrigins).toEqual(allowedOrigins);
});

test("a wrong option costs that option alone: those beside it stay as given", () => {
  const { options } = readOptions({ maxDepth: 0, prefix: "agents", notice: { maxResultChars: 5, more: 1 }, fork: 7 });
  expect(options).toMatchObject({ maxDepth: 3, prefix: "agents", notice: { maxResultChars: 5 } });
  expect(options.fork).toEqual(readOptions({}).options.fork);
});

test("a fleet without the address of its engine is none, and that is said", () => {
  const { options, problems } = readOptions({ fleet: { work: 2 } });
  expect(options.fleet).toBeUndefined();
  expect(optionsError(problems)).toContain('option "fleet.url": must be set; tasks run here alone');
  const fleet = { url: "nats://10.0.0.5:4222" };
  expect(readOptions({ fleet })).toMatchObject({ problems: [], options: { fleet: { ...fleet, work: 0, retries: 1 } } });
});

test.each([[["maxDepth"]], ["maxDepth"], [7]])(
  "options that are %j instead of an object are an error, not a crash",
  (given) => {
    const { options, problems } = readOptions(given);
    expect(options).toEqual(readOptions({}).options);
    expect(optionsError(problems)).toContain("the options must be an object");
  },
);

test("without a problem there is no error", () => {
  expect(optionsError(readOptions({ maxDepth: 2 }).problems)).toBeUndefined();
});

test("limits are set by name, beside the one of all tasks", () => {
  const concurrency = {
    default: 4,
    providers: { anthropic: 2 },
    models: { "anthropic/claude/opus": 1 },
    agents: { explore: 3 },
  };
  expect(readOptions({ concurrency })).toMatchObject({ options: { concurrency }, problems: [] });
  expect(readOptions({ concurrency: { agents: { explore: 3 } } }).options.concurrency.default).toBe(10);
});
