import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
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
 * Milliseconds for which the rest of the output is awaited once the command has ended. Those who hold it open are killed
 * within 50 (measured); only a process that nobody can find makes it this long.
 */
const OUTPUT_GRACE_MS = 3_000;

/**
 * Runs the command as `$1`, in a process group of its own, with a variable `$2` in its environment. Its standard input stays
 * open for as long as the command may run: when it closes, be it because this process died, all that the command started is
 * killed: first what has left the group, which is found by the variable (where there is `/proc`; it may start more
 * meanwhile, so it is looked for until nothing is found), then the group. The variable has a name of its own each time: a
 * command of a command has both.
 */
const SUPERVISED = `
exec 3<&0 </dev/null
(
  trap '' TERM HUP INT
  read -r line <&3
  rounds=0
  while [ "$rounds" -lt 20 ]; do
    found=$(grep -ls "$2=1" /proc/[0-9]*/environ)
    [ -n "$found" ] || break
    for environ in $found; do
      pid=\${environ#/proc/}
      kill -KILL "\${pid%/environ}"
    done
    rounds=$((rounds + 1))
  done 2>/dev/null
  kill -KILL 0
) &
exec 3<&-
( export "$2=1"; exec /bin/sh -c "$1" )
`;

/** A name that no other command has in its environment. */
const newMark = () => `TASKCHART_COMMAND_${randomUUID().replaceAll("-", "")}`;

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

/**
 * Runs a command with `/bin/sh`, without input. When it resolves, all that the command started has ended, but for a process
 * that has both left the process group and cleared its environment, or where there is no `/proc`: that one keeps nobody
 * waiting.
 */
export const runShellCommand: RunCommand = ({ command, directory, timeoutMs, env = process.env, signal }) =>
  new Promise((resolve) => {
    const tail = createTail();
    const child = spawn("/bin/sh", ["-c", SUPERVISED, "sh", command, newMark()], {
      cwd: directory,
      env: withoutSecrets(env),
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    let ended: Pick<CommandEnd, "exit" | "end"> | undefined;
    let timer: NodeJS.Timeout | undefined;
    const after = (milliseconds: number, work: () => void) => {
      clearTimeout(timer);
      timer = setTimeout(work, milliseconds);
    };
    const signalGroup = (name: NodeJS.Signals) => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, name);
      } catch {
        // It has just ended by itself.
      }
    };
    const finish = (end: CommandEnd) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", terminate);
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
      resolve(end);
    };
    const finishEnded = () => finish({ ...(ended ?? { end: "exited" }), output: tail.text() });
    /** The outputs close once all are killed. Where the command killed its watcher, or has hidden a process, they do not. */
    const killAll = () => {
      child.stdin.destroy();
      after(OUTPUT_GRACE_MS, () => {
        signalGroup("SIGKILL");
        finishEnded();
      });
    };
    const terminate = () => {
      if (ended) return;
      ended = { end: "timedOut" };
      signalGroup("SIGTERM");
      after(GRACE_MS, killAll);
    };
    after(timeoutMs, terminate);
    signal.addEventListener("abort", terminate, { once: true });
    // The group is gone when it closes: that its watcher cannot be written to then is no fault.
    child.stdin.on("error", () => undefined);
    child.stdout.on("data", tail.add);
    child.stderr.on("data", tail.add);
    child.on("error", (error) => finish({ end: "notRun", output: error.message }));
    child.on("exit", (code, name) => {
      ended ??= { end: "exited", exit: code ?? 128 + (name ? constants.signals[name] : 0) };
      killAll();
    });
    child.on("close", finishEnded);
    if (signal.aborted) terminate();
  });
