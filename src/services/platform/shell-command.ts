import { spawn } from "node:child_process";
import { constants } from "node:os";

/** A command as a shell takes it, and what bounds it. */
export interface ShellCommand {
  command: string;
  /** Where it runs. */
  directory: string;
  /** Milliseconds after which it is ended. */
  timeoutMs: number;
  /** Its environment, from which OpenCode's secrets are taken. Default: that of this process. */
  env?: NodeJS.ProcessEnv;
  /** Ends it when it is aborted. */
  signal: AbortSignal;
}

/** How a command ended. */
export interface CommandEnd {
  /** Absent where it did not exit by itself. A command that a signal ended has 128 and the signal's number, as in a shell. */
  exit?: number;
  /** `timedOut`: its time limit, or its `signal`, ended it. `notRun`: it could not be started. */
  end: "exited" | "timedOut" | "notRun";
  /** The end of what it wrote to both outputs, `OUTPUT_CHARS` characters at most; or why it could not be started. */
  output: string;
}

/** Runs a command. Never rejects. */
export type RunCommand = (command: ShellCommand) => Promise<CommandEnd>;

/** Characters of output that are kept: what a test runner says at its end. */
export const OUTPUT_CHARS = 4_000;

/** A character of UTF-8 has four bytes at most. */
const OUTPUT_BYTES = 4 * OUTPUT_CHARS;

/** Milliseconds from the request to end to the end by force. */
const GRACE_MS = 500;

/**
 * Runs the command as `$1`, in a process group of its own. Its standard input stays open for as long as the command may run:
 * when it closes, be it because this process died, the whole group is killed, with all that the command left behind.
 */
const SUPERVISED = `
exec 3<&0 </dev/null
( trap '' TERM; read -r line <&3; kill -KILL 0 ) &
exec 3<&-
/bin/sh -c "$1"
`;

/** Variables in which OpenCode keeps what is secret: a command of a project needs none of them. */
const SECRETS = ["OPENCODE_CONFIG_CONTENT", "OPENCODE_AUTH_CONTENT", "OPENCODE_SERVER_PASSWORD"];

const withoutSecrets = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !SECRETS.includes(name)));

/** Keeps the end of what is written to it. */
const createTail = () => {
  let chunks: Buffer[] = [];
  let length = 0;
  return {
    add: (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length <= 4 * OUTPUT_BYTES) return;
      chunks = [Buffer.concat(chunks).subarray(-OUTPUT_BYTES)];
      length = OUTPUT_BYTES;
    },
    text: () => Buffer.concat(chunks).toString("utf8").slice(-OUTPUT_CHARS).toWellFormed(),
  };
};

/** Runs a command with `/bin/sh`, without input. All that it started has ended when it resolves. */
export const runShellCommand: RunCommand = ({ command, directory, timeoutMs, env = process.env, signal }) =>
  new Promise((resolve) => {
    const tail = createTail();
    const child = spawn("/bin/sh", ["-c", SUPERVISED, "sh", command], {
      cwd: directory,
      env: withoutSecrets(env),
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    let ended: Pick<CommandEnd, "exit" | "end"> | undefined;
    let force: NodeJS.Timeout | undefined;
    const killAll = () => child.stdin.destroy();
    const terminate = () => {
      if (ended || force) return;
      ended = { end: "timedOut" };
      force = setTimeout(killAll, GRACE_MS);
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
      } catch {
        // It has just ended by itself.
      }
    };
    const limit = setTimeout(terminate, timeoutMs);
    signal.addEventListener("abort", terminate, { once: true });
    const finish = (end: CommandEnd) => {
      clearTimeout(limit);
      clearTimeout(force);
      signal.removeEventListener("abort", terminate);
      resolve(end);
    };
    // The group is gone when it closes: that its watcher cannot be written to then is no fault.
    child.stdin.on("error", () => undefined);
    child.stdout.on("data", tail.add);
    child.stderr.on("data", tail.add);
    child.on("error", (error) => finish({ end: "notRun", output: error.message }));
    child.on("exit", (code, name) => {
      ended ??= { end: "exited", exit: code ?? 128 + (name ? constants.signals[name] : 0) };
      killAll();
    });
    child.on("close", () => finish({ ...(ended ?? { end: "exited" }), output: tail.text() }));
    if (signal.aborted) terminate();
  });
