import { expect, test } from "vitest";
import { createGates } from "../../../../src/services/engine/effects/gates.ts";
import type { CommandEnd, ShellCommand } from "../../../../src/services/platform/shell-command.ts";

const GATE = { command: "npm test", timeout: 60_000, tries: 2 };
const PASSED: CommandEnd = { end: "exited", exit: 0, output: "" };

/** Gates whose commands end when the test ends them, in the order in which they were begun. */
const setUp = () => {
  const commands: (ShellCommand & { end(how: CommandEnd): void })[] = [];
  const gates = createGates((command) => {
    const { promise, resolve } = Promise.withResolvers<CommandEnd>();
    commands.push({ ...command, end: resolve });
    return promise;
  });
  const areStopped = () => commands.map(({ signal }) => signal?.aborted);
  return { gates, commands, areStopped };
};

test("a gate's command runs in the directory, for as long as it may, and ends as it ends", async () => {
  const { gates, commands, areStopped } = setUp();
  const run = gates.run("ses_1", GATE, "/work");
  expect(commands).toMatchObject([{ command: "npm test", directory: "/work", timeoutMs: 60_000 }]);
  commands[0]?.end(PASSED);
  expect(await run).toBe(PASSED);
  expect(areStopped()).toEqual([false]);
});

test("a command that was stopped has no end, whatever it says later", async () => {
  const { gates, commands, areStopped } = setUp();
  const run = gates.run("ses_1", GATE, "/work");
  gates.stop("ses_2");
  expect(areStopped()).toEqual([false]);
  gates.stop("ses_1");
  expect(areStopped()).toEqual([true]);
  commands[0]?.end(PASSED);
  expect(await run).toBeUndefined();
});

test("a task has one command at a time: the next one stops it, and is not forgotten when that one ends", async () => {
  const { gates, commands, areStopped } = setUp();
  const first = gates.run("ses_1", GATE, "/work");
  const second = gates.run("ses_1", GATE, "/work");
  expect(areStopped()).toEqual([true, false]);
  commands[0]?.end(PASSED);
  expect(await first).toBeUndefined();
  gates.stop("ses_1");
  expect(areStopped()).toEqual([true, true]);
  commands[1]?.end(PASSED);
  expect(await second).toBeUndefined();
});

test("all commands are stopped together, and one that has ended is none of them", async () => {
  const { gates, commands, areStopped } = setUp();
  const ended = gates.run("ses_1", GATE, "/work");
  commands[0]?.end(PASSED);
  await ended;
  for (const id of ["ses_2", "ses_3"]) void gates.run(id, GATE, "/work");
  gates.stopAll();
  expect(areStopped()).toEqual([false, true, true]);
});
