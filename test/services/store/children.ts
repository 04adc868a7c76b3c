import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** A process that goes a step at each line that it is given, and answers in lines. Ended when the test is over. */
export interface Child {
  process: ChildProcess;
  /** The next line that it says. */
  line(): Promise<string>;
  /** Lets it go on. */
  go(line?: string): void;
}

/** What can be started. */
const SCRIPTS = {
  adopter: new URL("adopter.ts", import.meta.url),
  committer: new URL("committer.ts", import.meta.url),
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
