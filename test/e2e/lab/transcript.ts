import type { Message, Part } from "@opencode-ai/sdk/v2/client";

/** A message of a session with its parts. */
export type SessionMessage = { info: Message; parts: Part[] };

/**
 * What was said in a session, a line for each part that a reader would want: `user: …`, `user (synthetic): …`,
 * `assistant: …`, `tool <name>: <output>`, `tool <name> <status>: <error>`, `assistant failed: <error name>: <message>`.
 */
export function transcript(messages: SessionMessage[]): string[] {
  return messages.flatMap(({ info, parts }) => [...parts.flatMap((part) => linesOf(info, part)), ...failureOf(info)]);
}

function linesOf(info: Message, part: Part): string[] {
  if (part.type === "text") return [`${info.role}${part.synthetic ? " (synthetic)" : ""}: ${part.text}`];
  if (part.type !== "tool") return [];
  const { state, tool } = part;
  if (state.status === "completed") return [`tool ${tool}: ${state.output}`];
  return [`tool ${tool} ${state.status}${state.status === "error" ? `: ${state.error}` : ""}`];
}

function failureOf(info: Message): string[] {
  if (info.role !== "assistant" || info.error === undefined) return [];
  const { name, data } = info.error;
  return [`assistant failed: ${name}: ${"message" in data ? data.message : ""}`];
}
