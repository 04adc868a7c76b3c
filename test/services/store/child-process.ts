import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** A process that takes a step for each line of input, and answers in lines. Killed at the end of the test. */
export interface Child {
  process: ChildProcess;
  /** Returns its next line. */
  line(): Promise<string>;
  /** Sends it a line. */
  go(line?: string): void;
}

/** The scripts that can be started. */
const SCRIPTS = {
  adopter: new URL("adopter.ts", import.meta.url),
  committer: new URL("committer.ts", import.meta.url),
  keeper: new URL("keeper.ts", import.meta.url),
};

/** Starts `command`, which runs one of the scripts. */
export const startChild = (command: readonly string[], script: keyof typeof SCRIPTS, ...args: string[]): Child => {
  const [program = "", ...before] = command;
  const file = fileURLToPath(SCRIPTS[script]);
  const child = spawn(program, [...before, file, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    process: child,
    line: async () => String((await lines.next()).value),
    go: (line = "go") => void child.stdin.write(`${line}\n`),
  };
};
