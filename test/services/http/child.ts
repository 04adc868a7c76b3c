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

/** A separate process that serves the status API. */
export interface Child {
  pid: number;
  url: string;
  token: string;
  ended: Promise<Ended>;
  kill(signal: NodeJS.Signals): Promise<Ended>;
  /** Sends it a command: `exit`, `stop`, `answer`, `rest`. */
  tell(word: string): void;
  /** Resolves when it has printed that line. */
  said(line: string): Promise<void>;
  /** Resolves when it accepts no more connections. */
  stopsAccepting(): Promise<void>;
}

export interface ChildOptions {
  folder: string;
  /** The port that it tries first; default: a free one. */
  port?: number;
  /** It responds to requests for logs only after the command `answer`. */
  slowLogs?: boolean;
  /** The host listens to signals too, and exits with code 7. */
  listens?: boolean;
  /** How many times faster its timers run. Default: 1. */
  pace?: number;
}

const refuses = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(false)).once("error", () => resolve(true));
    socket.once("connect", () => socket.destroy());
  });

/** Starts a process on the runtime of the test. Resolves when it serves. */
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
