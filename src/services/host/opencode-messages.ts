import type { AssistantMessage, Message, Part, Session, TextPart, ToolPart } from "@opencode-ai/sdk/v2/client";
import {
  ABORTED,
  type HostSession,
  type MessageInfo,
  type RequestCost,
  type ToolCallStage,
} from "../../machines/host-events.ts";
import type { HostError, Prompt } from "../../machines/task/events.ts";
import { CONTENT_FILTER_ERROR, type ModelRef, type ModelRefusal } from "../../task.ts";
import { type ForkedMessage, type ForkedPart, type HostMessage, joinTexts, type SpokenPart } from "./host.ts";
import { isRecord, readError } from "./sdk-client.ts";

/** What the host says of a session whose model has no variant. Sent back, it would count as a change of the session. */
const NO_VARIANT = "default";

/** Returns the variant to spread into a model, if there is one: the host sends `null`, "default" or nothing for none. */
export const variantField = (variant: string | null | undefined): { variant?: string } =>
  typeof variant === "string" && variant !== NO_VARIANT ? { variant } : {};

/** Reads a model of the host. */
export const toModelRef = (providerID: string, modelID: string, variant: string | null | undefined): ModelRef => ({
  providerID,
  modelID,
  ...variantField(variant),
});

/** Reads a session of the host. */
export const toHostSession = (session: Session): HostSession => {
  const { id, parentID, agent, model, permission, title, directory, revert, time } = session;
  return {
    id,
    parentID: parentID ?? undefined,
    agent: agent ?? undefined,
    model: model ? toModelRef(model.providerID, model.id, model.variant) : undefined,
    permission: permission ?? [],
    title,
    directory,
    ...(revert ? { isReverted: true } : {}),
    // A client that takes a session out of the archive can only set the time to 0.
    ...(time?.archived ? { archivedAt: time.archived } : {}),
  };
};

/** After a summary, the conversation consists of that. */
const conversationTokens = ({ tokens, summary }: AssistantMessage): { conversationTokens?: number } => {
  if (!tokens) return {};
  const { input, output, reasoning, cache } = tokens;
  const sum = (summary === true ? 0 : input + cache.read + cache.write + reasoning) + output;
  return sum > 0 ? { conversationTokens: sum } : {};
};

/** Nothing before the provider has counted its tokens. */
const requestCost = ({ tokens, cost }: AssistantMessage): { requestCost?: RequestCost } => {
  if (!tokens) return {};
  const { input, output, reasoning, cache } = tokens;
  const sum = input + output + reasoning + cache.read + cache.write;
  return sum > 0 ? { requestCost: { tokens: sum, cachedTokens: cache.read, cost } } : {};
};

const assistantFields = (info: AssistantMessage) => ({
  promptID: info.parentID,
  completedAt: info.time.completed ?? undefined,
  finish: info.finish ?? undefined,
  error: info.error ? readModelError(info.error) : undefined,
  isSummary: info.summary === true,
  model: toModelRef(info.providerID, info.modelID, info.variant),
  ...conversationTokens(info),
  ...requestCost(info),
});

const NO_ASSISTANT_FIELDS = {
  promptID: undefined,
  completedAt: undefined,
  finish: undefined,
  error: undefined,
  isSummary: false,
};

/** Reads a message of the host without its parts. */
export const readMessage = (info: Message): MessageInfo => ({
  id: info.id,
  role: info.role,
  createdAt: info.time.created,
  ...(info.role === "assistant" ? assistantFields(info) : NO_ASSISTANT_FIELDS),
});

/** True for text that a person or a model wrote; false for text that a program added. */
export const isOwnText = (part: Part): part is TextPart =>
  part.type === "text" && part.synthetic !== true && part.ignored !== true;

/** What became of the tool calls of a message; undefined where it has none. */
const toolsOf = (parts: Part[]): HostMessage["tools"] => {
  const states = parts.flatMap((part) => (part.type === "tool" ? part.state : []));
  if (states.length === 0) return undefined;
  const areInterrupted = states.every((state) => state.status === "error" && state.metadata?.interrupted === true);
  return areInterrupted ? "interrupted" : "called";
};

/** Not all providers show what a model reasons; some only count it. */
const hasReasoned = (info: Message, parts: Part[]): boolean =>
  (info.role === "assistant" && info.tokens.reasoning > 0) || parts.some(({ type }) => type === "reasoning");

/** Reads a message of the host with its text. */
export const readMessageWithText = ({ info, parts }: { info: Message; parts: Part[] }): HostMessage => {
  const tools = toolsOf(parts);
  return {
    ...readMessage(info),
    text: joinTexts(parts.filter(isOwnText).map(({ text }) => text)),
    ...(tools ? { tools } : {}),
    ...(hasReasoned(info, parts) ? { reasons: true } : {}),
  };
};

const toForkedPart = (part: Part): ForkedPart => {
  const other = { id: part.id, kind: "other", text: "", uncuttableText: "", attachments: 0, raw: part } as const;
  if (part.type === "text") return { ...other, kind: "text", text: part.ignored === true ? "" : part.text };
  if (part.type === "reasoning") return { ...other, uncuttableText: part.text };
  if (part.type === "file") return { ...other, attachments: 1 };
  if (part.type !== "tool") return other;
  const { state } = part;
  const uncuttableText = JSON.stringify(state.input);
  if (state.status === "completed") {
    const attachments = state.attachments?.length ?? 0;
    return { ...other, kind: "toolResult", text: state.output, uncuttableText, attachments };
  }
  return state.status === "error"
    ? { ...other, kind: "toolResult", text: state.error, uncuttableText }
    : { ...other, uncuttableText };
};

/** Reads a message of a forked conversation. */
export const toForkedMessage = ({ info, parts }: { info: Message; parts: Part[] }): ForkedMessage => ({
  id: info.id,
  role: info.role,
  isSummary: info.role === "assistant" ? info.summary === true : parts.some(({ type }) => type === "compaction"),
  parts: parts.map(toForkedPart),
});

/** Returns the host's form of a part with the part's current text. The host only accepts whole parts. */
export const withText = ({ raw, text }: ForkedPart): Part => {
  const part = raw as Part;
  if (part.type === "text") return { ...part, text };
  if (part.type !== "tool") return part;
  const { state } = part;
  if (state.status === "completed") return { ...part, state: { ...state, output: text } };
  return state.status === "error" ? { ...part, state: { ...state, error: text } } : part;
};

/** Returns how far a tool call has come. */
export const toolCallStage = ({ state: { status } }: ToolPart): ToolCallStage =>
  status === "completed" ? "stored" : status === "error" ? "failed" : "begun";

/** Returns the stage of a tool call if the part is that call. */
export const stagesOfCall =
  (callID: string) =>
  (part: Part): ToolCallStage[] =>
    part.type === "tool" && part.callID === callID ? [toolCallStage(part)] : [];

/** Returns a prompt in the form that the host takes. */
export const toPromptBody = ({ sessionID, messageID, parts, agent, model, noReply }: Prompt) => ({
  sessionID,
  messageID,
  ...(agent === undefined ? {} : { agent }),
  ...(noReply ? { noReply } : {}),
  ...(model ? { model: { providerID: model.providerID, modelID: model.modelID }, ...variantField(model.variant) } : {}),
  parts: parts.map((part) => ({ type: "text" as const, ...part })),
});

/** Returns what a transcript shows of a part: one entry or none. */
export const toSpokenParts = (part: Part): SpokenPart[] => {
  if (part.type === "text") return part.ignored === true ? [] : [{ kind: "text", text: part.text }];
  if (part.type !== "tool") return [];
  const { state } = part;
  const result = state.status === "completed" ? state.output : state.status === "error" ? state.error : undefined;
  return [{ kind: "tool", name: part.tool, params: state.input, result }];
};

// Only a refusal of the model itself makes another model worth asking (docs/decisions/160-when-a-model-is-left.md). An
// error that may pass, such as a locked database, interrupts the run instead, which then goes on by itself.

const NO_MONEY = /credit|quota|billing|insufficient (?:balance|funds)/i;
const UNKNOWN_MODEL = /^(?:ProviderModelNotFoundError: )?Model not found\b/;
const NO_SUCH_MODEL = /\bmodel\b.*(?:not found|does not exist|not supported|unknown|invalid)/i;

/** Why an answer with that HTTP status refused the model. Some providers report a lack of money or an unknown model as 400. */
const refusalOfStatus = (status: number | undefined, message: string): ModelRefusal | undefined => {
  if (status === 402 || (status !== undefined && status < 500 && NO_MONEY.test(message))) return "quota";
  if (status === 401 || status === 403) return "auth";
  if (status === 404 || (status === 400 && NO_SUCH_MODEL.test(message))) return "unknownModel";
  return status === 408 || status === 429 || (status ?? 0) >= 500 ? "overloaded" : undefined;
};

/**
 * Returns why a model refused a request, if another model may take it. The host has tried again as often as it does when it
 * reports a rate limit or too much load as an error. All other failures, such as a context that is too long, lie in the
 * request.
 */
const refusalOf = (error: unknown, { name, message }: HostError): ModelRefusal | undefined => {
  if (name === "ProviderAuthError") return "auth";
  if (name === "UnknownError") return UNKNOWN_MODEL.test(message) ? "unknownModel" : undefined;
  if (name !== "APIError") return undefined;
  const data = isRecord(error) && isRecord(error.data) ? error.data : {};
  const status = typeof data.statusCode === "number" ? data.statusCode : undefined;
  return refusalOfStatus(status, message) ?? (data.isRetryable === true ? "overloaded" : undefined);
};

/** Errors that say what is wrong with a request or its model: made again, it fails again. */
const OF_REQUEST: readonly string[] = [
  ABORTED,
  "ProviderAuthError",
  "APIError",
  "ContextOverflowError",
  CONTENT_FILTER_ERROR,
  "MessageOutputLengthError",
  "StructuredOutputError",
];

/** What the configuration lacks. */
const NOT_CONFIGURED = /^(?:Agent|Command|Model) not found\b/;

/** What OpenCode says when it cannot use its database or a disk. */
const OF_STORAGE = /\b(?:failed to execute statement|database|SQLITE_\w+|sqlerror|disk|ENOSPC|EIO|EMFILE|ENFILE)\b/i;

/** Returns whether an error is a fault of the host itself, or of a kind that is not known; undefined for all others. */
const faultOf = ({ name, message }: HostError): HostError["fault"] => {
  if (OF_REQUEST.includes(name) || NOT_CONFIGURED.test(message)) return undefined;
  return OF_STORAGE.test(message) ? "host" : "unknown";
};

/** Reads the error of a model's request. */
export const readModelError = (error: unknown): HostError => {
  const read = readError(error);
  const refusal = refusalOf(error, read);
  if (refusal) return { ...read, refusal };
  const fault = faultOf(read);
  return fault ? { ...read, fault } : read;
};
