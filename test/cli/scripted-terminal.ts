import type { Terminal, TerminalStreams } from "../../src/cli/terminal.ts";

/** A terminal whose lines a test reads. */
export interface ScriptedTerminal extends Terminal {
  lines: string[];
  notes: string[];
}

/** Creates a terminal of that size that shows no styles and asks nobody. */
export const scriptedTerminal = ({ columns = 100, rows = 24, isInteractive = false } = {}): ScriptedTerminal => {
  const lines: string[] = [];
  const notes: string[] = [];
  return {
    columns,
    rows,
    isInteractive,
    style: (_, text) => text,
    print: (...more) => void lines.push(...more),
    note: (line) => void notes.push(line),
    lines,
    notes,
  };
};

/** Returns the streams of a process whose output is `stdout`. */
export const streams = (stdout: object, env: NodeJS.ProcessEnv = {}): TerminalStreams => ({
  stdin: { isTTY: true },
  stdout: stdout as NodeJS.WriteStream,
  stderr: { write: () => true },
  env,
});
