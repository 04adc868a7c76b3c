import type { Event } from "@opencode-ai/sdk/v2/client";
import type { HostEvent } from "../../machines/supervisor/events.ts";
import type { Question } from "../../task.ts";
import { isOwnText, readMessage, stageOf } from "./opencode-messages.ts";
import { readError } from "./sdk-client.ts";

/** An event as the host publishes it. The type that the plugin package gives for it is older, and lacks some. */
export type OpencodeEvent = Event;

type AskedQuestion = Extract<OpencodeEvent, { type: "question.asked" }>["properties"]["questions"][number];
type PartEvent = Extract<OpencodeEvent, { type: "message.part.updated" }>;

const fromPart = ({ sessionID, part }: PartEvent["properties"]): HostEvent | undefined => {
  if (part.type === "tool") {
    return { type: "toolCall", sessionID, callID: part.callID, tool: part.tool, stage: stageOf(part) };
  }
  if (part.type === "step-finish") {
    const { input, output, reasoning } = part.tokens;
    return { type: "step", sessionID, partID: part.id, tokens: input + output + reasoning, cost: part.cost };
  }
  if (isOwnText(part)) {
    return { type: "text", sessionID, messageID: part.messageID, partID: part.id, text: part.text };
  }
  return undefined;
};

/** Where it is not said, one is chosen, or something else is said. */
const readQuestion = ({ question, options, multiple, custom }: AskedQuestion): Question => ({
  question,
  options: options.map(({ label }) => label),
  multiple: multiple === true,
  custom: custom !== false,
});

/** What an event of OpenCode means to us; undefined for the many that mean nothing. `at` is epoch milliseconds. */
export const readEvent = (event: OpencodeEvent, at: number): HostEvent | undefined => {
  switch (event.type) {
    case "session.status":
      // A retry is work too; idle is told once more by `session.idle`, the one that is read.
      return event.properties.status.type === "idle"
        ? undefined
        : { type: "busy", sessionID: event.properties.sessionID };
    case "session.idle":
      return { type: "idle", sessionID: event.properties.sessionID };
    case "session.error": {
      const { sessionID, error } = event.properties;
      return sessionID === undefined ? undefined : { type: "error", sessionID, error: readError(error) };
    }
    case "session.created":
    case "session.updated": {
      const { id, parentID } = event.properties.info;
      const isNew = event.type === "session.created";
      return parentID ? { type: "child", sessionID: id, parentID, isNew } : undefined;
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
