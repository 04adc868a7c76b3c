import type { ToolPart } from "@opencode-ai/sdk/v2/client";
import { z } from "zod";
import type { FileWrite, ToolCallEffect } from "../../machines/host-events.ts";

/*
 * What OpenCode's own tools report of a call that has ended, beside their output. Read with care: tools of plugins may have
 * the same names, and other versions other fields.
 */

const count = z.number().int().nonnegative();

const Read = z.object({ display: z.object({ type: z.literal("file"), path: z.string() }) });
const Write = z.object({ filepath: z.string(), exists: z.boolean() });
const Edit = z.object({ filediff: z.object({ file: z.string(), additions: count, deletions: count }) });
const Patch = z.object({
  files: z.array(
    z.object({
      filePath: z.string(),
      type: z.enum(["add", "update", "delete", "move"]),
      additions: count.optional(),
      deletions: count.optional(),
      movePath: z.string().optional(),
    }),
  ),
});
const Subagent = z.object({ background: z.literal(true), sessionId: z.string() });
const Shell = z.object({ exit: z.number().int().nullable() });

type PatchedFile = z.infer<typeof Patch>["files"][number];

const linesOf = (text: unknown): number | undefined =>
  typeof text === "string" ? text.split("\n").length - (text.endsWith("\n") || text === "" ? 1 : 0) : undefined;

const CHANGES = { add: "added", update: "changed", delete: "deleted" } as const;

const patchedFiles = ({ filePath, type, movePath, additions, deletions }: PatchedFile): FileWrite[] => {
  if (type !== "move") return [{ path: filePath, change: CHANGES[type], added: additions, removed: deletions }];
  const moved = movePath === undefined ? [] : [{ path: movePath, change: "added" } as const];
  return [{ path: filePath, change: "deleted" }, ...moved];
};

/** The last lines of a command's output, in which the tool says why it ended the command itself. */
const TIMED_OUT = /<shell_metadata>\s[^<]*exceeding timeout/;

/** Returns what a tool call that has ended did; undefined where that is not known, and for a call that failed. */
export const toolCallEffect = ({ tool, state }: ToolPart): ToolCallEffect | undefined => {
  if (tool === "bash" && state.status === "error" && state.metadata?.interrupted === true) {
    return { kind: "command", command: String(state.input.command ?? ""), exit: undefined, end: "aborted" };
  }
  return state.status === "completed" ? completedCallEffect(tool, state) : undefined;
};

/** What OpenCode knows of a tool call that it has completed. */
export interface CompletedCall {
  input: Record<string, unknown>;
  output: string;
  /** Of any shape. */
  metadata: unknown;
}

/** Returns what a completed tool call did; undefined where that is not known. */
export const completedCallEffect = (
  tool: string,
  { metadata, input, output }: CompletedCall,
): ToolCallEffect | undefined => {
  switch (tool) {
    case "read": {
      const { data } = Read.safeParse(metadata);
      return data && { kind: "read", path: data.display.path };
    }
    case "write": {
      const { data } = Write.safeParse(metadata);
      if (!data) return undefined;
      const { filepath: path, exists } = data;
      const file = exists
        ? ({ path, change: "changed" } as const)
        : ({ path, change: "added", added: linesOf(input.content), removed: 0 } as const);
      return { kind: "write", files: [file] };
    }
    case "edit": {
      const { data } = Edit.safeParse(metadata);
      if (!data) return undefined;
      const { file: path, additions: added, deletions: removed } = data.filediff;
      return { kind: "write", files: [{ path, change: input.oldString === "" ? "added" : "changed", added, removed }] };
    }
    case "apply_patch": {
      const { data } = Patch.safeParse(metadata);
      return data && { kind: "write", files: data.files.flatMap(patchedFiles) };
    }
    case "task": {
      const { data } = Subagent.safeParse(metadata);
      return data && { kind: "background", sessionID: data.sessionId };
    }
    case "bash": {
      const { data } = Shell.safeParse(metadata);
      if (!data) return undefined;
      const command = String(input.command ?? "");
      if (data.exit !== null) return { kind: "command", command, exit: data.exit, end: "exited" };
      return { kind: "command", command, exit: undefined, end: TIMED_OUT.test(output) ? "timedOut" : "aborted" };
    }
    default:
      return undefined;
  }
};
