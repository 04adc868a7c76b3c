import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { styleText } from "node:util";
import { escapeUnprintable } from "../services/platform/plain-text.ts";

/** A style as `styleText` of `node:util` names it, such as `"bold"`. */
export type Style = Parameters<typeof styleText>[0];

/** The destination of a command's output, and where it comes from. */
export interface Terminal {
  /** Width in columns; `DEFAULT_COLUMNS` for a file or a pipe. */
  readonly columns: number;
  /** Height in rows; `DEFAULT_ROWS` for a file or a pipe. */
  readonly rows: number;
  /** True where a person reads the output and can be asked. */
  readonly isInteractive: boolean;
  /** Styles a text, if the terminal shows styles. */
  style(style: Style, text: string): string;
  /** Writes lines. Control sequences in them are escaped, except for those that `style` added. */
  print(...lines: string[]): void;
  /** Writes bytes as they are into a file or a pipe, and as `print` writes them to a screen. */
  write(bytes: Uint8Array): void;
  /**
   * Writes lines as `print` does; where a person reads and they are more than the screen has rows, through the pager that
   * `PAGER` names (default: `less`). Resolves when that has ended.
   */
  page(lines: string[]): Promise<void>;
  /** Writes a line beside the output, to standard error. */
  note(line: string): void;
  /** Asks a person, and resolves to whether the answer is yes. */
  confirm(question: string): Promise<boolean>;
  /**
   * Begins to read lines from the input, whether a person types them or a script has written them. `read` resolves to the next
   * line; to undefined when there is none, or a person has pressed ctrl+c or ctrl+d. A script sees no prompt.
   */
  openInput(): { read(prompt: string): Promise<string | undefined>; close(): void };
  /** Shows a screen of its own until that is closed. */
  openScreen(events: ScreenEvents): Screen;
}

const DEFAULT_COLUMNS = 100;
const DEFAULT_ROWS = 24;

/** Matches the sequences that start and end a style; captured, so that `split` keeps them. */
const SEQUENCE = new RegExp(`(${String.fromCharCode(0x1b)}\\[[0-9;]+m)`);

/** The streams and the environment of a process, as far as its terminal depends on them. */
export interface TerminalStreams {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WritableStream;
  env: NodeJS.ProcessEnv;
}

/** Creates the terminal of a process. It shows no styles in files and pipes, or if `NO_COLOR` is set (https://no-color.org). */
export const openTerminal = ({ stdin, stdout, stderr, env }: TerminalStreams): Terminal => {
  const isDumb = env.TERM === "dumb";
  const showsStyles = stdout.isTTY && !env.NO_COLOR && !isDumb;
  const isInteractive = Boolean(stdin.isTTY && stdout.isTTY && !isDumb);
  /** The start and end sequences of the styles used so far. */
  const sequences = new Set<string>();

  const styled = (style: Style, text: string): string => {
    const [begin = "", end = ""] = styleText(style, "\0", { validateStream: false }).split("\0");
    for (const sequence of [begin, end]) sequences.add(sequence);
    return begin + text + end;
  };

  const printable = (line: string): string =>
    line
      .split(SEQUENCE)
      .map((piece) => (sequences.has(piece) ? piece : escapeUnprintable(piece)))
      .join("");

  const print = (...lines: string[]) => void stdout.write(`${lines.map(printable).join("\n")}\n`);

  return {
    get columns() {
      return stdout.columns || DEFAULT_COLUMNS;
    },
    get rows() {
      return stdout.rows || DEFAULT_ROWS;
    },
    isInteractive,
    style: (style, text) => (showsStyles ? styled(style, text) : text),
    print,
    write: (bytes) => {
      if (stdout.isTTY) print(...Buffer.from(bytes).toString().trimEnd().split("\n"));
      else stdout.write(bytes);
    },
    page: async (lines) => {
      const isLong = isInteractive && lines.length >= (stdout.rows || DEFAULT_ROWS);
      const isPaged = isLong && (await pageThrough(env, `${lines.map(printable).join("\n")}\n`));
      if (!isPaged) print(...lines);
    },
    note: (line) => void stderr.write(`${escapeUnprintable(line)}\n`),
    confirm: async (question) => {
      const asking = createInterface({ input: stdin, output: stderr });
      try {
        return /^y(es)?$/i.test((await asking.question(question)).trim());
      } catch (error) {
        // Ctrl+C and ctrl+d are no.
        if (error instanceof Error && error.name === "AbortError") return false;
        throw error;
      } finally {
        asking.close();
      }
    },
    openInput: () => {
      const lines = createInterface({ input: stdin, ...(isInteractive ? { output: stdout } : {}) });
      const next = lines[Symbol.asyncIterator]();
      return {
        read: async (prompt) => {
          if (isInteractive) {
            lines.setPrompt(printable(prompt));
            lines.prompt();
          }
          const line = await next.next();
          // What is printed next begins on a line of its own.
          if (line.done && isInteractive) stdout.write("\n");
          return line.done ? undefined : line.value;
        },
        close: () => lines.close(),
      };
    },
    openScreen: (events) => openScreen({ stdin, stdout }, printable, events),
  };
};

/** Options of `less`, unless the environment has others: styles are shown, and what was read stays on the screen. */
const LESS = "RX";

/** Shows a text in the person's pager. Resolves to false where there is none. */
const pageThrough = async (env: NodeJS.ProcessEnv, text: string): Promise<boolean> => {
  const command = env.PAGER?.trim() || "less";
  const pager = spawn(command, { shell: true, stdio: ["pipe", "inherit", "inherit"], env: { LESS, ...env } });
  // A person may leave it before it has read everything.
  pager.stdin.on("error", () => undefined);
  pager.stdin.end(text);
  const [code] = (await once(pager, "close")) as [number | null];
  return code !== NOT_FOUND;
};

/** With which a shell ends that does not find a command. */
const NOT_FOUND = 127;

/** Counts things in words: `1 event`, `7 events`. */
export const count = (many: number, what: string): string => `${many} ${what}${many === 1 ? "" : "s"}`;

/** Writes how often a task was resumed, in words that follow others; nothing where it never was. */
export const resumedText = (times: number): string =>
  times === 0 ? "" : `, resumed ${times === 1 ? "once" : `${times} times`}`;

const twoDigits = (part: number): string => String(part).padStart(2, "0");

/** Formats epoch milliseconds as the local time of day, to the millisecond: `13:05:09.042`. */
export const clockTime = (at: number): string => {
  const time = new Date(at);
  const day = [time.getHours(), time.getMinutes(), time.getSeconds()].map(twoDigits).join(":");
  return `${day}.${String(time.getMilliseconds()).padStart(3, "0")}`;
};

const day = (at: number): string => {
  const time = new Date(at);
  return `${time.getFullYear()}-${twoDigits(time.getMonth() + 1)}-${twoDigits(time.getDate())}`;
};

/** Formats epoch milliseconds as the local date and the time zone's offset: `2026-01-31, UTC+01:00`. */
export const date = (at: number): string => {
  const ahead = -new Date(at).getTimezoneOffset();
  const minutes = Math.abs(ahead);
  const offset = `${ahead < 0 ? "-" : "+"}${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}`;
  return `${day(at)}, UTC${ahead === 0 ? "" : offset}`;
};

/** Formats epoch milliseconds as the local date and time, to the second: `2026-01-31 13:05:09`. */
export const dateTime = (at: number): string => `${day(at)} ${clockTime(at).slice(0, 8)}`;

/** A screen of its own, as an editor has it: what was on the terminal before is there again when it is closed. */
interface Screen {
  /** Shows these lines from the top; more than fit are left out. */
  draw(lines: readonly string[]): void;
  /** Gives the terminal back as it was. May be called more than once. */
  close(): void;
}

/** What a person or the system may do to a screen. */
interface ScreenEvents {
  /** A key was pressed, such as `q`. */
  onKey(key: string): void;
  onResize(): void;
  /** Ctrl+C, or a signal to end. */
  onEnd(): void;
}

/** Control sequences of xterm that every terminal of today knows, or ignores. */
const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const LEAVE = "\u001b[?7h\u001b[?25h\u001b[?1049l";
/** Between these the terminal shows nothing, so that a frame appears at once. */
const BEGIN_FRAME = "\u001b[?2026h\u001b[H";
const END_FRAME = "\u001b[J\u001b[?2026l";
const CLEAR_LINE = "\u001b[2K";

const CTRL_C = "\u0003";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Opens a screen. `printable` makes a line safe to be written. The terminal is given back by `close`, and in any case when
 * the process exits.
 */
export const openScreen = (
  { stdin, stdout }: Pick<TerminalStreams, "stdin" | "stdout">,
  printable: (line: string) => string,
  { onKey, onResize, onEnd }: ScreenEvents,
): Screen => {
  let isOpen = true;

  const onData = (data: Buffer) => {
    for (const key of data.toString())
      if (key === CTRL_C) onEnd();
      else onKey(key);
  };

  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    stdout.write(LEAVE);
    stdin.off("data", onData);
    if (stdin.isTTY) stdin.setRawMode(false);
    stdin.pause();
    stdout.off("resize", onResize);
    process.off("exit", close);
    for (const signal of SIGNALS) process.off(signal, onEnd);
  };

  stdout.write(ENTER);
  if (stdin.isTTY) stdin.setRawMode(true);
  stdin.on("data", onData);
  stdin.resume();
  stdout.on("resize", onResize);
  process.on("exit", close);
  for (const signal of SIGNALS) process.on(signal, onEnd);

  return {
    draw: (lines) => {
      if (!isOpen) return;
      const shown = lines.slice(0, stdout.rows).map((line) => CLEAR_LINE + printable(line));
      stdout.write(BEGIN_FRAME + shown.join("\r\n") + END_FRAME);
    },
    close,
  };
};
