import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { occupy } from "./ports.ts";

const script = fileURLToPath(new URL("child-process.ts", import.meta.url));

/** How a process ended. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A process of its own that serves the status API. */
export interface Child {
  pid: number;
  url: string;
  token: string;
  ended: Promise<Ended>;
  kill(signal: NodeJS.Signals): Promise<Ended>;
  /** Says a word to it: `exit`, `stop`, `answer`. */
  tell(word: string): void;
  /** Resolves when it has said so. */
  said(line: string): Promise<void>;
  /** Resolves when it accepts no connection any more. */
  stopsAccepting(): Promise<void>;
}

export interface ChildOptions {
  folder: string;
  /** The port that it tries first. Default: one that is free. */
  port?: number;
  /** It answers for logs only when it is told to. */
  slowLogs?: boolean;
  /** Others than the server listen to signals too, and exit with 7. */
  listens?: boolean;
}

const refuses = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(false)).once("error", () => resolve(true));
    socket.once("connect", () => socket.destroy());
  });

/** Starts one on the runtime of the test, and resolves when it serves. */
export const startChild = async (options: ChildOptions): Promise<Child> => {
  const child = spawn(process.execPath, [script, JSON.stringify(options)], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ASYNCAGENTS_API_PORT: String(options.port ?? (await occupy(0))) },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const heard: string[] = [];
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => heard.push(line));
  const ended = once(child, "exit").then(([code, signal]): Ended => ({ code, signal }));

  const said = async (begin: string): Promise<string> => {
    for (;;) {
      const found = heard.find((line) => line.startsWith(begin));
      if (found !== undefined) return found;
      await Promise.race([
        once(lines, "line"),
        ended.then(({ code, signal }) => {
          throw new Error(`the process ended with ${code ?? signal} before it said ${begin}`);
        }),
      ]);
    }
  };

  const served = JSON.parse((await said("{")).toString());
  return {
    ...served,
    ended,
    kill: (signal) => {
      child.kill(signal);
      return ended;
    },
    tell: (word) => void child.stdin.write(`${word}\n`),
    said: async (line) => void (await said(line)),
    stopsAccepting: async () => {
      while (!(await refuses(served.port))) await new Promise(setImmediate);
    },
  };
};
