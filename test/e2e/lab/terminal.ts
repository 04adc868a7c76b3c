import { execFile, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type OpenCodeOptions, prepareHome } from "./home.ts";
import { executable } from "./opencode-process.ts";

/** OpenCode's terminal interface, as a person has it on a screen of 120 columns and 40 rows. */
export type Terminal = {
  pid: number;
  /** What the screen shows. */
  screen(): Promise<string>;
  /** Writes a prompt into the interface and sends it, in a session of its own if none is shown. */
  submit(prompt: string): Promise<void>;
  /** Quits with Ctrl-C, as a person does; resolves when the process has ended. */
  quit(): Promise<void>;
  /** SIGKILL, as in a crash; resolves when the process has ended. */
  kill(): Promise<void>;
};

/** Undefined where the interface can be driven, or why it cannot. */
export const noTerminal: string | undefined =
  spawnSync("tmux", ["-V"]).status === 0
    ? undefined
    : "tmux is not installed, so nobody can quit the terminal interface: apt-get install tmux";

const run = promisify(execFile);

/** Milliseconds that the interface gets to start, and to show what was typed; 3 to 8 s are usual on two busy cores. */
const startTimeoutMs = 90_000;

/** Milliseconds that OpenCode takes to end at most: it gives its plugins and sessions 5 s. */
const endTimeoutMs = 20_000;

/** Milliseconds after which Ctrl-C is pressed again: the first one may only have cleared what was typed. */
const patienceMs = 3_000;

/** Starts the interface and resolves when it can be typed into. The home stays. */
export async function openTerminal(options: OpenCodeOptions & { home: string }): Promise<Terminal> {
  const { home, project, env } = await prepareHome(options);
  // A tmux server of its own, apart from those of other tests and people. Its socket is new each time: the server before
  // may still be ending, and a client that reaches it fails with "server exited unexpectedly" (seen).
  const socket = join(home, `tmux-${randomUUID().slice(0, 8)}.sock`);
  const tmux = async (...args: string[]): Promise<string> => {
    const terminal = { TERM: "xterm-256color", LANG: "C.UTF-8" };
    const { stdout } = await run("tmux", ["-f", "/dev/null", "-S", socket, ...args], { env: { ...env, ...terminal } });
    return stdout;
  };
  const ask = async (what: string) => (await tmux("display-message", "-p", "-t", "opencode", what)).trim();
  const screen = () => tmux("capture-pane", "-p", "-t", "opencode");
  const press = (key: string) => tmux("send-keys", "-t", "opencode", key);

  const size = ["-x", "120", "-y", "40"];
  // Two words, so that tmux starts it itself: with one it would start a shell, which has another process id.
  const command = ["env", executable];
  const keep = ["set-option", "-g", "remain-on-exit", "on"];
  await tmux(
    "start-server",
    ";",
    ...keep,
    ";",
    "new-session",
    "-d",
    "-s",
    "opencode",
    ...size,
    "-c",
    project,
    ...command,
  );
  const pid = Number(await ask("#{pane_pid}"));

  // A test run that ends without stopping it must not leave it behind.
  const killAtExit = () => void signal(pid, "SIGKILL");
  process.once("exit", killAtExit);

  const hasEnded = async () => (await ask("#{pane_dead}")) === "1";
  const clear = async () => {
    process.off("exit", killAtExit);
    await tmux("kill-server");
  };

  async function until(condition: () => Promise<boolean>, what: string, timeoutMs: number): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    while (!(await condition())) {
      if (Date.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}. The screen:\n${await screen()}`);
      await sleep(50);
    }
  }

  const shows = (text: string) =>
    until(async () => (await screen()).includes(text), `"${text}" is shown`, startTimeoutMs);

  async function kill(): Promise<void> {
    signal(pid, "SIGKILL");
    await until(hasEnded, "the interface was killed", endTimeoutMs);
    await clear();
  }

  try {
    await shows("Ask anything");
  } catch (error) {
    await kill();
    throw error;
  }

  return {
    pid,
    screen,
    async submit(prompt) {
      await tmux("send-keys", "-t", "opencode", "-l", prompt);
      await shows(prompt);
      await press("Enter");
    },
    async quit() {
      let pressedAt = 0;
      const isOver = async () => {
        if (await hasEnded()) return true;
        if (Date.now() - pressedAt > patienceMs) {
          pressedAt = Date.now();
          await press("C-c");
        }
        return false;
      };
      await until(isOver, "the interface was quit", endTimeoutMs).catch(async (error: unknown) => {
        await kill();
        throw error;
      });
      await clear();
    },
    kill,
  };
}

/** A process that has ended already needs no signal. */
function signal(pid: number, name: "SIGKILL"): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
