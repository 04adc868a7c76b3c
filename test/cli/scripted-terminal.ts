import { PassThrough } from "node:stream";
import type { Terminal, TerminalStreams } from "../../src/cli/terminal.ts";

/** A terminal whose lines a test reads. */
export interface ScriptedTerminal extends Terminal {
  lines: string[];
  notes: string[];
  /** The screen that a command opened: what it shows, and how to press a key there. */
  screen: { frame: string[]; isClosed: boolean; press(key: string): void };
}

/** Creates a terminal of that size that shows no styles; a person there would give this answer, and `input` are the lines typed. */
export const scriptedTerminal = ({
  columns = 100,
  rows = 24,
  isInteractive = false,
  answer = false,
  input = [] as string[],
} = {}): ScriptedTerminal => {
  const lines: string[] = [];
  const notes: string[] = [];
  const screen: ScriptedTerminal["screen"] = { frame: [], isClosed: false, press: () => undefined };
  return {
    columns,
    rows,
    isInteractive,
    style: (_, text) => text,
    print: (...more) => void lines.push(...more),
    write: (bytes) => void lines.push(Buffer.from(bytes).toString().replace(/\n$/, "")),
    page: async (more) => void lines.push(...more),
    note: (line) => void notes.push(line),
    confirm: async (question) => {
      lines.push(question);
      return answer;
    },
    openInput: () => {
      const typed = input.values();
      return {
        read: async (prompt) => {
          const { done, value } = typed.next();
          if (isInteractive) lines.push(`${prompt}${value ?? ""}`);
          return done ? undefined : value;
        },
        close: () => undefined,
      };
    },
    openScreen: (events) => {
      screen.press = events.onKey;
      return {
        draw: (drawn) => {
          screen.frame = [...drawn];
        },
        close: () => {
          screen.isClosed = true;
        },
      };
    },
    lines,
    notes,
    screen,
  };
};

/** Returns the streams of a process whose output is `stdout`. */
export const streams = (stdout: object, env: NodeJS.ProcessEnv = {}): TerminalStreams => ({
  stdin: { isTTY: true } as NodeJS.ReadStream,
  stdout: stdout as NodeJS.WriteStream,
  stderr: new PassThrough(),
  env,
});
