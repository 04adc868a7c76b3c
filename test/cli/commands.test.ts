import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { commandHere, opencodeTaskchart } from "./command-line.ts";

test.each([[[]], [["--help"]], [["help"]]])("%j lists the commands in their groups", async (args) => {
  const { code, out, error } = await commandHere(args, { columns: 80 });
  expect(out).toMatch(/^Usage: opencode-taskchart <command> \[options\]\n\nSee, steer, stop/);
  expect(out).toMatch(/\nSee what goes on:\n {2}list {2,}list tasks.*\n {2}watch {2,}/);
  expect(out).toMatch(/\nUnderstand it:\n {2}replay {2,}/);
  expect({ code, error }).toEqual({ code: 0, error: "" });
  for (const line of out.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
});

const commandNames = async (): Promise<string[]> => {
  const { out } = await commandHere([]);
  const named = [...out.matchAll(/^ {2}([a-z]+) {2,}/gm)].flatMap(([, name]) => name ?? []);
  return named.filter((name) => name !== "help");
};

test("each command explains itself with an example and the options that all have", async () => {
  const names = await commandNames();
  expect(names).toContain("answer");
  for (const name of names.filter((each) => each !== "fleet")) {
    const { code, out } = await commandHere([name, "--help"], { columns: 80 });
    expect(code).toBe(0);
    expect(out).toContain(`Usage: opencode-taskchart ${name}`);
    expect(out).toMatch(new RegExp(`\\nExamples?:\\n  opencode-taskchart ${name}`));
    expect(out).toMatch(/Options of all commands:\n {2}--json .*\n {2}--data <folder>/);
    expect((await commandHere(["help", name], { columns: 80 })).out).toBe(out);
  }
});

test("a group of commands lists them, and each explains itself", async () => {
  const { out } = await commandHere(["fleet", "--help"], { columns: 80 });
  expect(out).toMatch(/\nCommands:\n {2}init .*\n {2}status /);
  expect((await commandHere(["help", "fleet"], { columns: 80 })).out).toBe(out);
  for (const name of ["init", "status", "limit"]) {
    const { code, out: help } = await commandHere(["fleet", name, "--help"], { columns: 80 });
    expect(code).toBe(0);
    expect(help).toContain(`Usage: opencode-taskchart fleet ${name}`);
    expect(help).toMatch(new RegExp(`\\nExamples?:\\n  opencode-taskchart fleet ${name}`));
    for (const option of ["--url <url>", "--credentials <file>", "--json"]) expect(help).toContain(option);
  }
});

test.each([
  [["fleet"], "Say which command of it: init, status, limit or drain. See opencode-taskchart fleet --help."],
  [["fleet", "found"], "Unknown command 'found'. See opencode-taskchart fleet --help."],
  [["fleet", "init", "--colour"], "Unknown option '--colour'. See opencode-taskchart fleet init --help."],
  [["xyzzy"], "Unknown command 'xyzzy'. See opencode-taskchart --help."],
  [["stear"], "Unknown command 'stear' (Did you mean steer?) See opencode-taskchart --help."],
  [["steer"], "Missing required argument 'task-id'. See opencode-taskchart steer --help."],
  [["steer", "ses_a"], "Missing required argument 'instruction'. See"],
  [["steer", "ses_a", " "], "The instruction must not be empty."],
  [["steer", " ", "faster"], "The id of a task must not be empty."],
  [["replay"], "Give the id of a task, or --file with an exported journal."],
  [["export"], "Missing required argument 'task-id'. See opencode-taskchart export --help."],
  [["replay", "ses_a", "ses_b"], "Too many arguments for 'replay'. Expected 1 argument but got 2."],
  [["replay", "ses_a", "--colour"], "Unknown option '--colour'. See opencode-taskchart replay --help."],
  [["replay", "ses_a", "--step", "--json"], "--step cannot be combined with --json. Use --until <event> --json."],
  [["replay", "ses_a", "--file", "x.json"], "--file cannot be combined with a task id or --data."],
])("%j is refused with what was wrong, and what to do", async (args, words) => {
  const { code, out, error } = await commandHere(args);
  expect(error).toContain(words);
  expect({ code, out }).toEqual({ code: 2, out: "" });
});

test("as a process it prints to standard output and says what was wrong on standard error, without a stack", async () => {
  expect(await opencodeTaskchart(["--version"])).toEqual({ code: 0, out: `${manifest.version}\n`, error: "" });
  expect(await opencodeTaskchart(["replay"])).toEqual({
    code: 2,
    out: "",
    error: "Give the id of a task, or --file with an exported journal.\n",
  });
});
