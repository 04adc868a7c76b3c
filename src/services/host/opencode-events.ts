import { createHash } from "node:crypto";
import type { Event, Message, Part, ToolPart } from "@opencode-ai/sdk/v2/client";
import { z } from "zod";
import type { FileWrite, HostEvent, ToolCallEffect } from "../../machines/host-events.ts";
import type { UserQuestion } from "../../user-request.ts";
import { isOwnText, readMessage, readModelError, toHostSession, toolCallStage } from "./opencode-messages.ts";

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
interface CompletedCall {
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

/** An event as the host publishes it. The plugin package exports an older type, which lacks some events. */
export type OpencodeEvent = Event;

type AskedQuestion = Extract<OpencodeEvent, { type: "question.asked" }>["properties"]["questions"][number];
type PartEvent = Extract<OpencodeEvent, { type: "message.part.updated" }>;

/** Objects with the same fields are equal, in whatever order these come. */
const sortFields = (_: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

/** Returns a short text that is equal for equal arguments: they may be as long as a file that is written. */
const digest = (input: unknown): string =>
  createHash("sha256")
    .update(JSON.stringify(input, sortFields) ?? "")
    .digest("base64url")
    .slice(0, 22);

/** Translates a part of a message, as an event brings it or as it is stored; undefined for one that no task depends on. */
const fromPart = ({ sessionID, part }: Pick<PartEvent["properties"], "sessionID" | "part">): HostEvent | undefined => {
  if (part.type === "tool") {
    const { callID, tool, state } = part;
    const call = { type: "toolCall", sessionID, callID, tool, stage: toolCallStage(part) } as const;
    if (state.status === "pending") return call;
    const effect = toolCallEffect(part);
    return { ...call, input: digest(state.input), ...(effect ? { effect } : {}) };
  }
  if (part.type === "patch") return { type: "filesChanged", sessionID, partID: part.id, files: part.files };
  // The host begins a step when the provider has taken the request, and reports the session as busy before that (seen).
  if (part.type === "step-start") return { type: "answering", sessionID };
  if (part.type === "step-finish") {
    const { input, output, reasoning } = part.tokens;
    return { type: "step", sessionID, partID: part.id, tokens: input + output + reasoning, cost: part.cost };
  }
  if (isOwnText(part)) {
    return { type: "text", sessionID, messageID: part.messageID, partID: part.id, text: part.text };
  }
  return undefined;
};

/** By default a question takes one choice, and also an answer that is not among its choices. */
const readQuestion = ({ question, options, multiple, custom }: AskedQuestion): UserQuestion => ({
  question,
  options: options.map(({ label }) => label),
  multiple: multiple === true,
  custom: custom !== false,
});

/**
 * Translates an event of OpenCode into an event of ours. Returns undefined for the many that no task depends on.
 * @param at when the event arrived, in epoch milliseconds
 */
export const readEvent = (event: OpencodeEvent, at: number): HostEvent | undefined => {
  switch (event.type) {
    case "session.status": {
      const { sessionID, status } = event.properties;
      if (status.type === "retry") {
        const { attempt, message, next } = status;
        return { type: "retrying", sessionID, attempt, message, until: next };
      }
      // Idle is also published as `session.idle`, which is read instead.
      return status.type === "idle" ? undefined : { type: "busy", sessionID };
    }
    case "session.idle":
      return { type: "idle", sessionID: event.properties.sessionID };
    case "session.error": {
      const { sessionID, error } = event.properties;
      return sessionID === undefined ? undefined : { type: "error", sessionID, error: readModelError(error) };
    }
    case "session.created":
    case "session.updated": {
      const session = toHostSession(event.properties.info);
      return { type: "session", sessionID: session.id, session, isNew: event.type === "session.created" };
    }
    case "session.compacted":
      return { type: "compacted", sessionID: event.properties.sessionID };
    case "session.deleted":
      return { type: "deleted", sessionID: event.properties.info.id };
    case "message.updated": {
      const { info } = event.properties;
      return { type: "message", sessionID: info.sessionID, message: readMessage(info) };
    }
    case "message.part.updated":
      return fromPart(event.properties);
    case "permission.asked": {
      const { id, sessionID, permission, patterns, always } = event.properties;
      const what = `${permission}: ${patterns.join(", ")}`;
      return { type: "asked", sessionID, request: { id, kind: "permission", what, since: at, always } };
    }
    case "question.asked": {
      const { id, sessionID, questions } = event.properties;
      const what = questions.map(({ question }) => question).join(" ");
      const request = { id, kind: "question", what, since: at, questions: questions.map(readQuestion) } as const;
      return { type: "asked", sessionID, request };
    }
    case "permission.replied":
    case "question.replied":
    case "question.rejected":
      return { type: "replied", sessionID: event.properties.sessionID, requestID: event.properties.requestID };
    default:
      return undefined;
  }
};

/**
 * Returns the events of a run that its stored messages stand for: those of the prompt's answers and of their parts. Nothing
 * where the prompt is not among them.
 */
export const storedEvents = (messages: readonly { info: Message; parts: Part[] }[], messageID: string): HostEvent[] => {
  const prompt = messages.findIndex(({ info }) => info.id === messageID);
  if (prompt < 0) return [];
  return messages.slice(prompt).flatMap(({ info, parts }) => {
    const { sessionID } = info;
    const ofParts = parts.flatMap((part) => fromPart({ sessionID, part }) ?? []);
    return [{ type: "message", sessionID, message: readMessage(info) } as const, ...ofParts];
  });
};
