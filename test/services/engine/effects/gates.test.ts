import { expect, test } from "vitest";
import { createGates } from "../../../../src/services/engine/effects/gates.ts";
import type { CommandEnd, ShellCommand } from "../../../../src/services/platform/shell-command.ts";
import type { FilesRead } from "../../../../src/services/worktrees/fingerprints.ts";
import { settled } from "../../../fakes/virtual-clock.ts";

const GATE = { command: "npm test", timeout: 60_000, tries: 2 };
const PASSED: CommandEnd = { end: "exited", exit: 0, output: "" };

/** Gates whose commands end when the test ends them, in the order in which they were begun. */
const setUp = () => {
  const commands: (ShellCommand & { end(how: CommandEnd): void })[] = [];
  const reads: { directory: string; answer(files: FilesRead): void }[] = [];
  let readsAtOnce: string | undefined = "tree1";
  const gates = createGates(
    (command) => {
      const { promise, resolve } = Promise.withResolvers<CommandEnd>();
      commands.push({ ...command, end: resolve });
      return promise;
    },
    async (directory) => {
      if (readsAtOnce !== undefined) return { fingerprint: readsAtOnce };
      const { promise, resolve } = Promise.withResolvers<FilesRead>();
      reads.push({ directory, answer: resolve });
      return promise;
    },
  );
  const areStopped = () => commands.map(({ signal }) => signal?.aborted);
  const readSlowly = () => {
    readsAtOnce = undefined;
  };
  return { gates, commands, areStopped, reads, readSlowly };
};

test("a gate's command runs in the directory, for as long as it may, and ends as it ends", async () => {
  const { gates, commands, areStopped } = setUp();
  const run = gates.run("ses_1", GATE, "/work");
  await settled();
  expect(commands).toMatchObject([{ command: "npm test", directory: "/work", timeoutMs: 60_000 }]);
  commands[0]?.end(PASSED);
  expect(await run).toEqual({ ...PASSED, files: { fingerprint: "tree1", changedMeanwhile: false } });
  expect(areStopped()).toEqual([false]);
});

test("a command that was stopped has no end, whatever it says later", async () => {
  const { gates, commands, areStopped } = setUp();
  const run = gates.run("ses_1", GATE, "/work");
  await settled();
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
  await settled();
  const second = gates.run("ses_1", GATE, "/work");
  await settled();
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
  await settled();
  commands[0]?.end(PASSED);
  await ended;
  for (const id of ["ses_2", "ses_3"]) void gates.run(id, GATE, "/work");
  await settled();
  gates.stopAll();
  expect(areStopped()).toEqual([false, true, true]);
});

test("a change while the command runs is noticed, and what is there at its end is what it is compared with later", async () => {
  const { gates, commands, reads, readSlowly } = setUp();
  readSlowly();
  const run = gates.run("ses_1", GATE, "/work");
  await settled();
  expect(reads.map(({ directory }) => directory)).toEqual(["/work"]);
  expect(commands).toEqual([]);
  reads[0]?.answer({ fingerprint: "tree1" });
  await settled();
  commands[0]?.end(PASSED);
  await settled();
  reads[1]?.answer({ fingerprint: "tree2" });
  expect(await run).toEqual({ ...PASSED, files: { fingerprint: "tree2", changedMeanwhile: true } });
});

test("where the files cannot be read, before it or after it, the command counts all the same, and it is said why", async () => {
  const { gates, commands, reads, readSlowly } = setUp();
  readSlowly();
  const problem = { problem: "git took longer than 10 s to read them" };
  for (const [index, answers] of [[problem], [{ fingerprint: "tree1" }, problem]].entries()) {
    const run = gates.run("ses_1", GATE, "/work");
    await settled();
    reads.at(-1)?.answer(answers[0] ?? problem);
    await settled();
    commands[index]?.end(PASSED);
    await settled();
    if (answers[1]) reads.at(-1)?.answer(answers[1]);
    expect(await run).toEqual({ ...PASSED, files: problem });
  }
  expect(reads).toHaveLength(3);
});

test("a gate that is stopped while files are read, before its command or after it, starts none and has no end", async () => {
  const { gates, commands, reads, readSlowly } = setUp();
  readSlowly();
  const before = gates.run("ses_1", GATE, "/work");
  await settled();
  gates.stop("ses_1");
  reads[0]?.answer({ fingerprint: "tree1" });
  expect(await before).toBeUndefined();
  expect(commands).toEqual([]);
  const after = gates.run("ses_1", GATE, "/work");
  await settled();
  reads[1]?.answer({ fingerprint: "tree1" });
  await settled();
  commands[0]?.end(PASSED);
  await settled();
  gates.stop("ses_1");
  reads[2]?.answer({ fingerprint: "tree1" });
  expect(await after).toBeUndefined();
});
