import type { PluginInput } from "@opencode-ai/plugin";
import {
  type AssistantMessage,
  createOpencodeClient,
  type Event,
  type Message,
  type OpencodeClient,
  type Part,
  type TextPart,
  type ToolPart,
} from "@opencode-ai/sdk/v2/client";
import type { MessageInfo, ToolCallStage } from "../../machines/supervisor/events.ts";
import type { Prompt } from "../../machines/task/events.ts";
import type { ModelRef } from "../../task.ts";
import { errorMessage } from "../platform/log.ts";
import type { Host, HostFailure, HostResult } from "./host.ts";
import { type ForkedMessage, type ForkedPart, type HostMessage, joinTexts, type SpokenPart } from "./messages.ts";

/** An event as the host publishes it. The type that the plugin package gives for it is older, and lacks some. */
export type OpencodeEvent = Event;

/** A call that takes longer counts as unanswered, in milliseconds. None of them waits for a model. */
const CALL_TIMEOUT = 15_000;

/**
 * The same for making a session: what has no answer in time is made all the same, so waiting longer is cheaper than
 * finding out. Of 150 that were asked for at once, 22 took longer than 15 s.
 */
const CREATE_TIMEOUT = 60_000;

/**
 * The same for a fork, which copies the conversation part by part: 3 to 7 ms for each (500 parts took 2.4 to 3.4 s, and
 * 2,200 to 3,100 over 15 s), so this is enough for some 40,000. Node's `fetch` waits no longer for an answer either.
 */
const FORK_TIMEOUT = 300_000;

/** Messages in which a call is looked for: one that waited is in the newest, but for what was said to it meanwhile. */
const RECENT = 20;

/** Sessions of one list at most. */
const LISTED = 1_000;

/** More sessions than a directory has: a list without a limit of its own ends after a hundred. */
const ALL = 1_000_000;

interface SdkResponse<T> {
  data?: T | undefined;
  error?: unknown;
  response?: { status: number } | undefined;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

const firstText = (...values: unknown[]): string | undefined =>
  values.find((value): value is string => typeof value === "string" && value !== "");

/** Reads an error of the host. They come as `{ name, data: { message } }`, as `{ _tag, message }`, or as anything else. */
export const readError = (error: unknown): { name: string; message: string } => {
  if (!isRecord(error)) return { name: "UnknownError", message: String(error ?? "no details were given") };
  const inner = isRecord(error.data) ? error.data.message : undefined;
  return {
    name: firstText(error.name, error._tag) ?? "UnknownError",
    message: firstText(inner, error.message) ?? JSON.stringify(error),
  };
};

/** Too early, too much, or a fault of the host's own: the same call may succeed later. */
const isPassing = (status: number | undefined): boolean =>
  status === undefined || status >= 500 || status === 408 || status === 429;

const failureOf = (error: unknown, status: number | undefined): HostFailure => ({
  kind: status === 404 ? "notFound" : isPassing(status) ? "unavailable" : "refused",
  ...readError(error),
});

/** Turns a client call into a result: `{ error }` answers, throws and silence all become failures with a name. */
const callSdk = async <T>(
  call: (signal: AbortSignal) => Promise<SdkResponse<T>>,
  limit = CALL_TIMEOUT,
): Promise<HostResult<T | undefined>> => {
  const timeout = AbortSignal.timeout(limit);
  const silence = new Promise<never>((_, reject) => {
    timeout.addEventListener("abort", () => reject(new Error(`no answer within ${limit} ms`)));
  });
  try {
    const { data, error, response } = await Promise.race([call(timeout), silence]);
    if (error === undefined) return { ok: true, value: data };
    return { ok: false, failure: failureOf(error, response?.status) };
  } catch (error) {
    return { ok: false, failure: { kind: "unavailable", name: "Unreachable", message: errorMessage(error) } };
  }
};

const mapResult = <T, U>(result: HostResult<T | undefined>, to: (value: T) => U): HostResult<U> => {
  if (!result.ok) return result;
  if (result.value !== undefined) return { ok: true, value: to(result.value) };
  return {
    ok: false,
    failure: { kind: "unavailable", name: "EmptyAnswer", message: "OpenCode answered with nothing" },
  };
};

const withoutValue = (result: HostResult<unknown>): HostResult<void> =>
  result.ok ? { ok: true, value: undefined } : result;

/** The host says `null`, and leaves out, what is not there. */
const variantOf = (variant: string | null | undefined): { variant?: string } =>
  typeof variant === "string" ? { variant } : {};

const modelRef = (providerID: string, modelID: string, variant: string | null | undefined): ModelRef => ({
  providerID,
  modelID,
  ...variantOf(variant),
});

const answerOf = (info: AssistantMessage) => ({
  promptID: info.parentID,
  completedAt: info.time.completed ?? undefined,
  finish: info.finish ?? undefined,
  error: info.error ? readError(info.error) : undefined,
  isSummary: info.summary === true,
});

const noAnswer = {
  promptID: undefined,
  completedAt: undefined,
  finish: undefined,
  error: undefined,
  isSummary: false,
};

/** Reads a message of the host. */
export const readMessage = (info: Message): MessageInfo => ({
  id: info.id,
  role: info.role,
  createdAt: info.time.created,
  ...(info.role === "assistant" ? answerOf(info) : noAnswer),
});

/** True for text that a person or a model wrote, not a machine. */
export const isOwnText = (part: Part): part is TextPart =>
  part.type === "text" && part.synthetic !== true && part.ignored !== true;

const readWhole = ({ info, parts }: { info: Message; parts: Part[] }): HostMessage => ({
  ...readMessage(info),
  text: joinTexts(parts.filter(isOwnText).map(({ text }) => text)),
});

const toForkedPart = (part: Part): ForkedPart => {
  const other = { id: part.id, kind: "other", text: "", beside: "", attachments: 0, raw: part } as const;
  if (part.type === "text") return { ...other, kind: "text", text: part.ignored === true ? "" : part.text };
  if (part.type === "reasoning") return { ...other, beside: part.text };
  if (part.type === "file") return { ...other, attachments: 1 };
  if (part.type !== "tool") return other;
  const { state } = part;
  const beside = JSON.stringify(state.input);
  if (state.status === "completed") {
    const attachments = state.attachments?.length ?? 0;
    return { ...other, kind: "toolResult", text: state.output, beside, attachments };
  }
  return state.status === "error" ? { ...other, kind: "toolResult", text: state.error, beside } : { ...other, beside };
};

const toForkedMessage = ({ info, parts }: { info: Message; parts: Part[] }): ForkedMessage => ({
  id: info.id,
  role: info.role,
  isSummary: info.role === "assistant" ? info.summary === true : parts.some(({ type }) => type === "compaction"),
  parts: parts.map(toForkedPart),
});

/** The host's form of a part, with its text as it shall be; the host takes whole parts only. */
const withText = ({ raw, text }: ForkedPart): Part => {
  const part = raw as Part;
  if (part.type === "text") return { ...part, text };
  if (part.type !== "tool") return part;
  const { state } = part;
  if (state.status === "completed") return { ...part, state: { ...state, output: text } };
  return state.status === "error" ? { ...part, state: { ...state, error: text } } : part;
};

/** How far a tool call has come. */
export const stageOf = ({ state: { status } }: ToolPart): ToolCallStage =>
  status === "completed" ? "stored" : status === "error" ? "failed" : "begun";

const stageIn =
  (callID: string) =>
  (part: Part): ToolCallStage[] =>
    part.type === "tool" && part.callID === callID ? [stageOf(part)] : [];

/** A prompt as the host takes it. */
const promptBody = ({ sessionID, messageID, parts, agent, model, noReply }: Prompt) => ({
  sessionID,
  messageID,
  ...(agent === undefined ? {} : { agent }),
  ...(noReply ? { noReply } : {}),
  ...(model ? { model: { providerID: model.providerID, modelID: model.modelID }, ...variantOf(model.variant) } : {}),
  parts: parts.map((part) => ({ type: "text" as const, ...part })),
});

/** What a reader wants to see of a part, if anything. */
const spokenPart = (part: Part): SpokenPart[] => {
  if (part.type === "text") return part.ignored === true ? [] : [{ kind: "text", text: part.text }];
  if (part.type !== "tool") return [];
  const { state } = part;
  const result = state.status === "completed" ? state.output : state.status === "error" ? state.error : undefined;
  return [{ kind: "tool", name: part.tool, params: state.input, result }];
};

/**
 * A client of the whole API. The plugin is handed an older one, which lacks permissions and questions and throws on
 * network errors; but its way to the host, in-process where there is no listener, serves both.
 * @throws Error when the plugin's client has no configuration to take over.
 */
const connect = ({ client, directory }: Pick<PluginInput, "client" | "directory">): OpencodeClient => {
  const inner: unknown = Reflect.get(client, "_client");
  const getConfig: unknown = isRecord(inner) ? inner.getConfig : undefined;
  if (typeof getConfig !== "function")
    throw new Error("OpenCode's client has no configuration: is its version supported?");
  const { baseUrl, fetch, headers } = getConfig.call(inner) as {
    baseUrl: string;
    fetch?: typeof globalThis.fetch;
    headers?: Headers;
  };
  return createOpencodeClient({
    baseUrl,
    directory,
    ...(fetch ? { fetch } : {}),
    headers: Object.fromEntries(headers?.entries() ?? []),
  });
};

/** OpenCode as the host. The only file that knows its SDK. */
export const createOpencodeHost = (input: Pick<PluginInput, "client" | "directory">): Host => {
  const client = connect(input);
  return {
    agents: async () =>
      mapResult(await callSdk((signal) => client.app.agents({}, { signal })), (agents) =>
        agents.map(({ name, hidden, model, variant }) => ({
          name,
          hidden: hidden === true,
          model: model ? modelRef(model.providerID, model.modelID, variant) : undefined,
        })),
      ),
    session: async (sessionID) =>
      mapResult(await callSdk((signal) => client.session.get({ sessionID }, { signal })), (session) => ({
        id: session.id,
        parentID: session.parentID ?? undefined,
        agent: session.agent ?? undefined,
        model: session.model ? modelRef(session.model.providerID, session.model.id, session.model.variant) : undefined,
        permission: session.permission ?? [],
        title: session.title,
      })),
    createSession: async ({ model, ...session }) =>
      mapResult(
        await callSdk(
          (signal) =>
            client.session.create(
              {
                ...session,
                ...(model
                  ? { model: { id: model.modelID, providerID: model.providerID, ...variantOf(model.variant) } }
                  : {}),
              },
              { signal },
            ),
          CREATE_TIMEOUT,
        ),
        ({ id }) => ({ id }),
      ),
    deleteSession: async (sessionID) =>
      withoutValue(await callSdk((signal) => client.session.delete({ sessionID }, { signal }))),
    children: async (sessionID) =>
      mapResult(await callSdk((signal) => client.session.children({ sessionID }, { signal })), (sessions) =>
        sessions.map(({ id }) => id),
      ),
    fork: async (sessionID, messageID) =>
      mapResult(
        await callSdk((signal) => client.session.fork({ sessionID, messageID }, { signal }), FORK_TIMEOUT),
        ({ id }) => ({
          id,
        }),
      ),
    forkedMessages: async (sessionID) =>
      mapResult(await callSdk((signal) => client.session.messages({ sessionID }, { signal })), (messages) =>
        messages.map(toForkedMessage),
      ),
    rewritePart: async (sessionID, messageID, part) =>
      withoutValue(
        await callSdk((signal) =>
          client.part.update({ sessionID, messageID, partID: part.id, part: withText(part) }, { signal }),
        ),
      ),
    deleteMessage: async (sessionID, messageID) =>
      withoutValue(await callSdk((signal) => client.session.deleteMessage({ sessionID, messageID }, { signal }))),
    updateSession: async (sessionID, changes) =>
      withoutValue(await callSdk((signal) => client.session.update({ sessionID, ...changes }, { signal }))),
    prompt: async (prompt) =>
      withoutValue(await callSdk((signal) => client.session.promptAsync(promptBody(prompt), { signal }))),
    storeMessage: async (message) =>
      withoutValue(
        await callSdk((signal) => client.session.prompt({ ...promptBody(message), noReply: true }, { signal })),
      ),
    abort: async (sessionID) =>
      withoutValue(await callSdk((signal) => client.session.abort({ sessionID }, { signal }))),
    busy: async () =>
      mapResult(
        await callSdk((signal) => client.session.status({}, { signal })),
        (statuses) => new Set(Object.entries(statuses).flatMap(([id, status]) => (status.type === "idle" ? [] : [id]))),
      ),
    messages: async (sessionID, limit) =>
      mapResult(await callSdk((signal) => client.session.messages({ sessionID, limit }, { signal })), (messages) =>
        messages.map(readWhole),
      ),
    conversation: async (sessionID) =>
      mapResult(await callSdk((signal) => client.session.messages({ sessionID }, { signal })), (messages) =>
        messages.map(({ info, parts }) => ({ id: info.id, role: info.role, parts: parts.flatMap(spokenPart) })),
      ),
    sessionsSince: async (at) =>
      mapResult(await callSdk((signal) => client.session.list({ start: at, limit: LISTED }, { signal })), (sessions) =>
        sessions.map(({ id, parentID, title, metadata, time }) => ({
          createdAt: time.created,
          id,
          parentID: parentID ?? undefined,
          title,
          metadata: metadata ?? {},
        })),
      ),
    allSessions: async () =>
      mapResult(
        await callSdk((signal) => client.session.list({ limit: ALL }, { signal })),
        (sessions) => new Set(sessions.map(({ id }) => id)),
      ),
    toolCall: async (sessionID, callID) => {
      const newest = await callSdk((signal) => client.session.messages({ sessionID, limit: RECENT }, { signal }));
      const stages = mapResult(newest, (messages) => messages.flatMap(({ parts }) => parts.flatMap(stageIn(callID))));
      if (!stages.ok) return stages;
      const stage = stages.value.at(-1);
      if (stage) return { ok: true, value: stage };
      const message = `session ${sessionID} has no recent tool call ${callID}`;
      return { ok: false, failure: { kind: "notFound", name: "NotFound", message } };
    },
    rawMessages: async (sessionID) =>
      mapResult(await callSdk((signal) => client.session.messages({ sessionID }, { signal })), (messages) => messages),
    message: async (sessionID, messageID) =>
      mapResult(await callSdk((signal) => client.session.message({ sessionID, messageID }, { signal })), (message) => ({
        ...readWhole(message),
        partIDs: message.parts.map(({ id }) => id),
      })),
    answerUserRequest: async ({ id }, { reply, message, answers }) => {
      if (answers)
        return withoutValue(await callSdk((signal) => client.question.reply({ requestID: id, answers }, { signal })));
      if (!reply) throw new Error(`request ${id} is given neither a reply nor answers`);
      const words = message === undefined ? {} : { message };
      return withoutValue(
        await callSdk((signal) => client.permission.reply({ requestID: id, reply, ...words }, { signal })),
      );
    },
    rejectUserRequest: async ({ id, kind }, message) =>
      withoutValue(
        await (kind === "permission"
          ? callSdk((signal) => client.permission.reply({ requestID: id, reply: "reject", message }, { signal }))
          : callSdk((signal) => client.question.reject({ requestID: id }, { signal }))),
      ),
    toast: async (toast) => withoutValue(await callSdk((signal) => client.tui.showToast(toast, { signal }))),
  };
};
