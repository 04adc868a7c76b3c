/** A screen of its own, as an editor has it: what was on the terminal before is there again when it is closed. */
export interface Screen {
  /** Shows these lines from the top; more than fit are left out. */
  draw(lines: readonly string[]): void;
  /** Gives the terminal back as it was. May be called more than once. */
  close(): void;
}

/** What a person or the system may do to a screen. */
export interface ScreenEvents {
  /** A key was pressed, such as `q`. */
  onKey(key: string): void;
  onResize(): void;
  /** Ctrl+C, or a signal to end. */
  onEnd(): void;
}

/** The streams of a terminal, as far as a screen needs them. */
export interface ScreenStreams {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
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
  { stdin, stdout }: ScreenStreams,
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
