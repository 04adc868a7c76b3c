import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { opencodeTaskchart } from "./command-line.ts";

test.each([[[]], [["--help"]], [["help"]]])("%j lists the commands", async (args) => {
  const { code, out, error } = await opencodeTaskchart(args);
  expect(out).toMatch(
    /^Usage: opencode-taskchart <command>\n\n {2}answer {2}.*\n {2}steer {3}.*\n {2}replay {2}.*\n {2}export {2}/,
  );
  expect({ code, error }).toEqual({ code: 0, error: "" });
});

test.each([
  [["replay", "--help"], "Usage: opencode-taskchart replay <task-id>"],
  [["help", "export"], "Usage: opencode-taskchart export <task-id>"],
  [["answer", "--help"], "Usage: opencode-taskchart answer"],
  [["steer", "--help"], "Usage: opencode-taskchart steer <task-id> <prompt>"],
  [["whatif", "--help"], "Usage: opencode-taskchart whatif"],
  [["--version"], manifest.version],
])("%j is answered on standard output", async (args, words) => {
  const { code, out, error } = await opencodeTaskchart(args);
  expect(out).toContain(words);
  expect({ code, error }).toEqual({ code: 0, error: "" });
});

test.each([
  [["play"], 'There is no command "play". Commands: answer, steer, replay, export, whatif.'],
  [["steer"], "Give the id of a task."],
  [["steer", "ses_a"], "Give the instruction, after the task's id."],
  [["replay"], "Give the id of a task, or --file with an exported journal."],
  [["export"], "Give the id of a task."],
  [["replay", "ses_a", "ses_b"], '"ses_b" is one argument too many.'],
  [["replay", "ses_a", "--colour"], /Unknown option '--colour'/],
  [["replay", "ses_a", "--file", "x.json"], "--file cannot be combined with a task id or --data."],
])("%j is refused with what was wrong, and what to do", async (args, words) => {
  const { code, out, error } = await opencodeTaskchart(args);
  expect(error).toMatch(words);
  expect(error).not.toMatch(/^ {4}at /m);
  expect({ code, out }).toEqual({ code: 2, out: "" });
});
