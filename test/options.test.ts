import { expect, test } from "vitest";
import { optionsError, readOptions } from "../src/options.ts";

test("without options every one has its default", () => {
  const fork = { maxToolResultChars: 1_500, maxTokens: 100_000 };
  const defaults = {
    fork,
    prefix: "asyncagents",
    toolsets: ["tasks"],
    subtasks: { onParentCancel: "cancel" },
    maxDepth: 3,
    timeouts: { stale: 600_000 },
    budget: { tasksPerParent: 200 },
    loop: { repeat: 20 },
    concurrency: { default: 10, providers: {}, models: {}, agents: {} },
    notice: { maxResultChars: 10_000 },
    api: { allowedOrigins: [], reads: "user" },
    attention: {},
    recovery: "continue",
    wake: "each",
    retention: {},
    inspect: false,
  };
  const read = { options: defaults, problems: [] };
  expect(readOptions(undefined)).toEqual(read);
  expect(readOptions({})).toEqual(read);
  expect(readOptions({ notice: {}, fork: {} })).toEqual(read);
});

test.each([
  [{ prefix: "Bad Prefix" }, /option "prefix": must be lower-case letters/],
  [{ maxDepth: 0 }, /option "maxDepth": /],
  [{ wake: "none" }, /option "wake": .*"each"\|"all"/],
  [{ maxDepth: "3" }, /option "maxDepth": .*expected number/],
  [{ notice: { maxResultChars: -1 } }, /option "notice\.maxResultChars": /],
  [{ prefix: "elisha_task" }, /option "prefix": must not start with .*elisha, create_subtask/],
  [{ prefix: "create_subtask" }, /option "prefix": must not start with a prefix/],
  [{ toolsets: [] }, /option "toolsets": must name at least one toolset/],
  [{ toolsets: ["task"] }, /option "toolsets\.0": .*"tasks"/],
  [{ subtasks: { onParentCancel: "ignore" } }, /option "subtasks\.onParentCancel": .*"cancel"/],
  [{ notice: { maxChars: 1 } }, /option "notice\.maxChars": there is no such option/],
  [{ inspect: "Stately" }, /option "inspect": must be true, false or "stately"/],
  [{ maxdepth: 1 }, /option "maxdepth": there is no such option.*Known options: prefix, toolsets, subtasks, maxDepth/],
  [{ api: { reads: "everybody" } }, /option "api\.reads": .*"user"\|"token"\|"open"/],
  [
    { api: { allowedOrigins: ["https://ok.example", "https://x.example/"] } },
    /option "api\.allowedOrigins\.1": must be an origin .* such as "https:\/\/x\.example"/,
  ],
  [{ api: { allowedOrigins: ["https://x.example/path"] } }, /without a path .* such as "https:\/\/x\.example"/],
  [{ api: { allowedOrigins: ["HTTPS://X.example"] } }, /such as "https:\/\/x\.example"/],
  [{ api: { allowedOrigins: ["https://x.example:443"] } }, /such as "https:\/\/x\.example"/],
  [{ api: { allowedOrigins: ["x.example"] } }, /must be an origin/],
  [{ api: { allowedOrigins: ["*"] } }, /must be an origin/],
  [{ concurrency: { default: 0 } }, /option "concurrency\.default": .*>=1; the default is used/],
  [{ concurrency: { providers: { anthropic: 1.5 } } }, /option "concurrency\.providers\.anthropic": .*int/],
  [{ concurrency: { models: { opus: 1 } } }, /option "concurrency\.models\.opus": .*Invalid key/],
  [{ concurrency: { agents: 3 } }, /option "concurrency\.agents": .*expected record/],
  [{ concurrency: { total: 3 } }, /option "concurrency\.total": there is no such option/],
  [{ maxDepth: 0, prefix: "" }, /option "prefix".*option "maxDepth"/],
])("%j is a clear error that names the option, which gets its default", (given, message) => {
  const { options, problems } = readOptions(given);
  expect(options).toEqual(readOptions({}).options);
  expect(optionsError(problems)).toMatch(message);
  expect(optionsError(problems)).toMatch(/^opencode-taskchart: in opencode\.json, /);
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
