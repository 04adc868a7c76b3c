import { execFile, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { PATIENCE_MS } from "../../patience.ts";
import { type OpenCodeOptions, type PluginSpec, prepareHome } from "./home.ts";
import { executable } from "./opencode-process.ts";
import { refuseEndedTest } from "./running-test.ts";

/** OpenCode's terminal interface, as a person has it on a screen. */
export type Terminal = {
  pid: number;
  /** What the screen shows. */
  screen(): Promise<string>;
  /** The same with its colours, as escape sequences, and with the spaces at the ends of lines, which may have one. */
  coloredScreen(): Promise<string>;
  /** Waits until the screen shows that, and resolves to the screen. Rejects after `timeoutMs` (default: `PATIENCE_MS`). */
  shows(what: string | RegExp, options?: { timeoutMs?: number }): Promise<string>;
  /** Waits until the screen shows it no more, and resolves to the screen. */
  hides(what: string | RegExp): Promise<string>;
  /** Presses a key until the screen shows that: one that is pressed while a dialog is being closed reaches nobody. */
  pressUntilShown(key: string, what: string): Promise<void>;
  /** Presses keys, in the words of tmux: "Enter", "C-x", "a". */
  press(...keys: string[]): Promise<void>;
  /** Types text where the cursor is. */
  type(text: string): Promise<void>;
  /** Gives the screen another size. */
  resize(columns: number, rows: number): Promise<void>;
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
const startTimeoutMs = PATIENCE_MS;

/** Milliseconds that something gets to show. */
const showTimeoutMs = PATIENCE_MS;

/** Milliseconds that OpenCode takes to end at most: it gives its plugins and sessions 5 s, and a busy machine is slow. */
const endTimeoutMs = PATIENCE_MS;

/** Milliseconds after which Ctrl-C is pressed again: the first one may only have cleared what was typed. */
const patienceMs = 3_000;

/** What of the interface a test chooses. */
export type TerminalOptions = OpenCodeOptions & {
  home: string;
  /** Default: 120 columns and 40 rows. */
  size?: { columns: number; rows: number };
  /** What follows `opencode` on the command line, such as a session to open. */
  args?: string[];
  /** The plugins of the interface, as in tui.json. Default: none. */
  panel?: PluginSpec[];
  /**
   * Whether what works turns, as a person sees it. Default false: the whole screen is drawn 30 times a second for it, which
   * takes a quarter of a core.
   */
  animations?: boolean;
  /** What shows that it can be typed into. Default: the prompt of the first screen. */
  ready?: string | RegExp;
};

/** Starts the interface and resolves when it can be typed into. The home stays. */
export async function openTerminal(options: TerminalOptions): Promise<Terminal> {
  const { args = [], panel = [], animations = false, ready = "Ask anything" } = options;
  const { columns, rows } = options.size ?? { columns: 120, rows: 40 };
  const { home, project, env } = await prepareHome(options);
  await writeFile(join(home, "config", "opencode", "tui.json"), JSON.stringify({ plugin: panel }));
  await mkdir(join(home, "state", "opencode"), { recursive: true });
  await writeFile(join(home, "state", "opencode", "kv.json"), JSON.stringify({ animations_enabled: animations }));
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
  const press = async (...keys: string[]) => void (await tmux("send-keys", "-t", "opencode", ...keys));
  const type = async (text: string) => void (await tmux("send-keys", "-t", "opencode", "-l", text));

  const size = ["-x", `${columns}`, "-y", `${rows}`];
  // Two words, so that tmux starts it itself: with one it would start a shell, which has another process id.
  const command = ["env", executable, ...args];
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
    // Always as often: a toast may be gone soon.
    while (!(await condition())) {
      refuseEndedTest();
      if (Date.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}. The screen:\n${await screen()}`);
      await sleep(50);
    }
  }

  /** Waits until the screen is as it should be, and resolves to it. */
  async function screenThat(isRight: (shown: string) => boolean, what: string, timeoutMs = showTimeoutMs) {
    let shown = "";
    const look = async () => {
      shown = await screen();
      return isRight(shown);
    };
    await until(look, what, timeoutMs);
    return shown;
  }
  const isOn = (what: string | RegExp, shown: string) =>
    typeof what === "string" ? shown.includes(what) : what.test(shown);
  const shows = (what: string | RegExp, { timeoutMs }: { timeoutMs?: number } = {}) =>
    screenThat((shown) => isOn(what, shown), `${what} is shown`, timeoutMs);

  /** Presses a key, and again after a while, until that has come about. */
  async function pressUntil(key: string, condition: () => Promise<boolean>, what: string, timeoutMs: number) {
    let pressedAt = 0;
    const look = async () => {
      if (await condition()) return true;
      if (Date.now() - pressedAt > patienceMs) {
        pressedAt = Date.now();
        await press(key);
      }
      return false;
    };
    await until(look, what, timeoutMs);
  }

  async function kill(): Promise<void> {
    signal(pid, "SIGKILL");
    await until(hasEnded, "the interface was killed", endTimeoutMs);
    await clear();
  }

  try {
    await shows(ready, { timeoutMs: startTimeoutMs });
  } catch (error) {
    await kill();
    throw error;
  }

  return {
    pid,
    screen,
    coloredScreen: () => tmux("capture-pane", "-e", "-N", "-p", "-t", "opencode"),
    shows,
    pressUntilShown: (key, what) =>
      pressUntil(key, async () => isOn(what, await screen()), `${what} is shown once ${key} is pressed`, showTimeoutMs),
    hides: (what) => screenThat((shown) => !isOn(what, shown), `${what} is not shown any more`),
    press,
    type,
    async resize(width, height) {
      await tmux("resize-window", "-t", "opencode", "-x", `${width}`, "-y", `${height}`);
    },
    async submit(prompt) {
      await type(prompt);
      await shows(prompt, { timeoutMs: startTimeoutMs });
      await press("Enter");
    },
    async quit() {
      await pressUntil("C-c", hasEnded, "the interface was quit", endTimeoutMs).catch(async (error: unknown) => {
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
