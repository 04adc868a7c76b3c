import { dirname } from "node:path";
import type { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { openTerminal } from "../../src/cli/terminal.ts";
import { scriptTask } from "../services/store/scripted-task.ts";
import { createSharedDatabase } from "../services/store/shared-database.ts";
import { opencodeTaskchart } from "./command-line.ts";
import { streams } from "./scripted-terminal.ts";

/** Clears the screen, begins a control sequence in one character, turns text round, hides and retitles. */
const HOSTILE = "a\u001b[2Jb\u009b2Jc\u202ed\u200be\u0007\u001b]0;title\u0007f\u2028g\u007fh\ud83d";

const UNPRINTABLE = /[^\P{C}\n]|[\u2028\u2029]/u;

const withHostileTask = (): string => {
  const file = createSharedDatabase();
  const { store } = file.openAs("OpenCode");
  const story = scriptTask("ses_counting", { description: HOSTILE, prompt: HOSTILE, agent: HOSTILE, batchId: HOSTILE });
  store.commit(story.launch());
  store.commit(story.answer(HOSTILE));
  return dirname(file.path);
};

test("no command prints a character that a terminal obeys, whatever a task is called and has said", async () => {
  const data = withHostileTask();
  const commands = [
    ["list", "--data", data],
    ["show", "counting", "--data", data],
    ["replay", "ses_counting", "--data", data],
    ["replay", HOSTILE, "--data", data],
    [HOSTILE],
  ];
  for (const { out, error } of await Promise.all(commands.map((args) => opencodeTaskchart(args)))) {
    expect(out + error).toMatch(/a(?: |\\u001b)\[2Jb/);
    expect(out + error).not.toMatch(UNPRINTABLE);
  }
});

test("an export with all its text escapes such characters, and is the same text when it is read", async () => {
  const { out } = await opencodeTaskchart(["export", "ses_counting", "--with-text", "--data", withHostileTask()]);
  expect(out).toContain("\\u009b2Jc\\u202ed\\u200be");
  expect(out).not.toMatch(UNPRINTABLE);
  expect(JSON.parse(out)).toMatchObject({ origin: { facts: { prompt: HOSTILE } } });
});

test("a note beside the output is written as text, whatever is in it", () => {
  const { stderr, ...others } = streams({ isTTY: true, columns: 80, write: () => true });
  openTerminal({ stderr, ...others }).note(HOSTILE);
  const written = String((stderr as PassThrough).read());
  expect(written).toMatch(/^a\\u001b\[2Jb/);
  expect(written).not.toMatch(UNPRINTABLE);
});

test("on a terminal only the styles that are ours are obeyed", () => {
  const written: string[] = [];
  const out = { isTTY: true, columns: 80, write: (text: string) => written.push(text) };
  const { print, style } = openTerminal(streams(out));
  const red = style("red", "x");
  print(`${red} \u001b[8m hidden \u001b[2J \u009b \u202e`, "next");
  expect(red).not.toBe("x");
  expect(written).toEqual([`${red} \\u001b[8m hidden \\u001b[2J \\u009b \\u202e\nnext\n`]);
});
