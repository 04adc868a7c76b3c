import type { ToolPart } from "@opencode-ai/sdk/v2/client";
import { describe, expect, test } from "vitest";
import { toolCallEffect } from "../../../src/services/host/opencode-events.ts";

/** A call that was completed, as OpenCode 1.18.33 reports it. */
const completed = (tool: string, metadata: object, input: object = {}, output = ""): ToolPart =>
  ({
    tool,
    state: { status: "completed", input, output, title: "", metadata, time: { start: 1, end: 2 } },
  }) as ToolPart;

const failed = (tool: string, metadata: object | undefined, input: object = {}): ToolPart =>
  ({
    tool,
    state: { status: "error", input, error: "Tool execution aborted", metadata, time: { start: 1, end: 2 } },
  }) as ToolPart;

test("a file that was read is named by its whole path, whatever the model wrote", () => {
  const metadata = { preview: "", display: { type: "file", path: "/project/a.ts", text: "", totalLines: 1 } };
  expect(toolCallEffect(completed("read", metadata, { filePath: "a.ts" }))).toEqual({
    kind: "read",
    path: "/project/a.ts",
  });
  expect(
    toolCallEffect(completed("read", { display: { type: "directory", path: "/project", entries: [] } })),
  ).toBeUndefined();
});

describe("a file that was written", () => {
  const write = (exists: boolean, content: unknown) =>
    toolCallEffect(completed("write", { filepath: "/project/a.ts", exists, diagnostics: {} }, { content }));

  test.each([
    ["", 0],
    ["one", 1],
    ["one\n", 1],
    ["one\ntwo", 2],
    ["one\n\n", 2],
  ])("and was not there has the lines of its text: %j", (content, added) => {
    expect(write(false, content)).toEqual({
      kind: "write",
      files: [{ path: "/project/a.ts", change: "added", added, removed: 0 }],
    });
  });

  test("over another one has no count of lines: the tool tells none", () => {
    expect(write(true, "one")).toEqual({ kind: "write", files: [{ path: "/project/a.ts", change: "changed" }] });
  });

  test("by an edit has the lines that the tool counted, and is new where nothing was replaced", () => {
    const metadata = { diff: "", filediff: { file: "/project/a.ts", patch: "", additions: 3, deletions: 1 } };
    const file = { path: "/project/a.ts", added: 3, removed: 1 };
    const edit = (oldString: string) => toolCallEffect(completed("edit", metadata, { oldString }));
    expect(edit("x")).toEqual({ kind: "write", files: [{ ...file, change: "changed" }] });
    expect(edit("")).toEqual({ kind: "write", files: [{ ...file, change: "added" }] });
  });

  test("by a patch may be several, and one that is moved is two", () => {
    const of = (filePath: string, type: string, more = {}) => ({
      filePath,
      type,
      patch: "",
      additions: 1,
      deletions: 2,
      ...more,
    });
    const files = [of("/a", "add"), of("/b", "update"), of("/c", "delete"), of("/d", "move", { movePath: "/e" })];
    expect(toolCallEffect(completed("apply_patch", { diff: "", files }))).toEqual({
      kind: "write",
      files: [
        { path: "/a", change: "added", added: 1, removed: 2 },
        { path: "/b", change: "changed", added: 1, removed: 2 },
        { path: "/c", change: "deleted", added: 1, removed: 2 },
        { path: "/d", change: "deleted" },
        { path: "/e", change: "added" },
      ],
    });
  });
});

describe("a command", () => {
  const TIME_LIMIT =
    "out\n\n<shell_metadata>\nshell tool terminated command after exceeding timeout 300 ms. If this command is expected…\n</shell_metadata>";
  const ABORTED = "out\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>";

  test.each([
    ["that exited", completed("bash", { output: "", exit: 3 }, { command: "ls" }), 3, "exited"],
    [
      "at the tool's time limit",
      completed("bash", { exit: null }, { command: "ls" }, TIME_LIMIT),
      undefined,
      "timedOut",
    ],
    ["that was aborted", completed("bash", { exit: null }, { command: "ls" }, ABORTED), undefined, "aborted"],
    [
      "that did not end when it was aborted",
      failed("bash", { interrupted: true }, { command: "ls" }),
      undefined,
      "aborted",
    ],
  ] as const)("%s", (_, part, exit, end) => {
    expect(toolCallEffect(part)).toEqual({ kind: "command", command: "ls", exit, end });
  });

  test("that never ran is none", () => {
    expect(toolCallEffect(failed("bash", { output: "" }, { command: "ls", workdir: "/nowhere" }))).toBeUndefined();
    expect(toolCallEffect(failed("bash", undefined))).toBeUndefined();
  });
});

test.each(["read", "write", "edit", "apply_patch", "bash"])(
  "a tool of a plugin that is called %s, and reports other things, says nothing",
  (tool) => {
    for (const metadata of [{}, { display: 1, filepath: 2, exists: "", filediff: [], files: {}, exit: "0" }]) {
      expect(toolCallEffect(completed(tool, metadata))).toBeUndefined();
    }
  },
);

test("a call that has not ended, failed, or is of a tool without effects of which it is known says nothing", () => {
  const running = { tool: "bash", state: { status: "running", input: { command: "ls" } } } as unknown as ToolPart;
  expect(toolCallEffect(running)).toBeUndefined();
  expect(toolCallEffect(failed("edit", undefined, { filePath: "a" }))).toBeUndefined();
  expect(toolCallEffect(completed("webfetch", {}))).toBeUndefined();
});
