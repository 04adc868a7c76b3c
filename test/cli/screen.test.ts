import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { openScreen } from "../../src/cli/terminal.ts";

/** A terminal of three rows, what was written to it, and whether it passes on each key at once. */
const terminal = () => {
  const written: string[] = [];
  const raw: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (isRaw: boolean) => void raw.push(isRaw) });
  const stdout = Object.assign(new EventEmitter(), { rows: 3, write: (text: string) => void written.push(text) });
  const streams = {
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
  };
  return { written, raw, stdin, stdout, streams };
};

const events = () => {
  const seen: string[] = [];
  return {
    seen,
    onKey: (key: string) => void seen.push(key),
    onResize: () => void seen.push("resized"),
    onEnd: () => void seen.push("end"),
  };
};

test("it draws on a screen of its own, no more than fits, and each line as it may be written", () => {
  const { written, streams } = terminal();
  const screen = openScreen(streams, (line) => line.toUpperCase(), events());
  expect(written.join("")).toBe("\u001b[?1049h\u001b[?25l\u001b[?7l");
  screen.draw(["a", "b", "c", "d"]);
  expect(written.at(-1)).toBe("\u001b[?2026h\u001b[H\u001b[2KA\r\n\u001b[2KB\r\n\u001b[2KC\u001b[J\u001b[?2026l");
  screen.close();
});

test("a process that exits gives the terminal back, once", () => {
  const { written, streams } = terminal();
  const before = process.listeners("exit");
  openScreen(streams, (line) => line, events());
  const [onExit, ...others] = process.listeners("exit").filter((listener) => !before.includes(listener));
  expect(others).toEqual([]);
  onExit?.call(process, 0);
  expect(written.slice(1)).toEqual(["\u001b[?7h\u001b[?25h\u001b[?1049l"]);
  expect(process.listeners("exit")).toEqual(before);
});

test("keys, ctrl+c, a signal and a new size are reported; closed, it gives the terminal back once and hears nothing more", async () => {
  const { written, raw, stdin, stdout, streams } = terminal();
  const told = events();
  const listeners = process.listenerCount("SIGINT");
  const screen = openScreen(streams, (line) => line, told);
  stdin.write("xq\u0003");
  await new Promise((resolve) => setImmediate(resolve));
  stdout.emit("resize");
  process.emit("SIGTERM");
  expect(told.seen).toEqual(["x", "q", "end", "resized", "end"]);
  screen.close();
  screen.close();
  screen.draw(["late"]);
  expect(written.slice(1)).toEqual(["\u001b[?7h\u001b[?25h\u001b[?1049l"]);
  expect(raw).toEqual([true, false]);
  expect(process.listenerCount("SIGINT")).toBe(listeners);
  stdout.emit("resize");
  expect(told.seen).toHaveLength(5);
});
