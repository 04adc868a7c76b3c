import type { PluginInput } from "@opencode-ai/plugin";
import { createSessionDirectories, type SessionDirectories } from "./directories.ts";
import type { Host, HostResult } from "./host.ts";
import { storedEvents } from "./opencode-events.ts";
import {
  readMessageWithText,
  stagesOfCall,
  toForkedMessage,
  toHostSession,
  toModelRef,
  toPromptBody,
  toSpokenParts,
  variantField,
  withText,
} from "./opencode-messages.ts";
import {
  type CallOptions,
  CREATE_TIMEOUT_MS,
  connect,
  FORK_TIMEOUT_MS,
  LIST_TIMEOUT_MS,
  perform,
  read,
} from "./sdk-client.ts";

/** Number of newest messages searched for a tool call. A blocking call is in the newest, unless prompts arrived since. */
const RECENT_MESSAGES = 20;

/** Most sessions that one list of recent sessions returns. */
const LIST_LIMIT = 1_000;

/** More sessions than any directory has: without a limit, the host lists only a hundred. */
const NO_LIMIT = 1_000_000;

/** Returns a call's parameter that names a directory; without one, the client names the plugin's own. */
const inDirectory = (directory: string | undefined): { directory?: string } =>
  directory === undefined ? {} : { directory };

const idOf = ({ id }: { id: string }) => ({ id });

/**
 * Creates the host port over OpenCode. Only the files of this folder know its SDK.
 * @param sessionDirectories the directories, beside the plugin's own, in which sessions of tasks work
 * @throws Error when the plugin's client cannot be taken over.
 */
export const createOpencodeHost = (
  input: Pick<PluginInput, "client" | "directory">,
  sessionDirectories: SessionDirectories = createSessionDirectories(),
): Host => {
  const client = connect(input);

  const messagesOf = (sessionID: string, limit?: number) => (options: CallOptions) =>
    client.session.messages({ sessionID, ...(limit === undefined ? {} : { limit }) }, options);

  const busyIn = (directory: string | undefined): Promise<HostResult<string[]>> =>
    read(
      (options) => client.session.status(inDirectory(directory), options),
      (statuses) => Object.entries(statuses).flatMap(([id, { type }]) => (type === "idle" ? [] : [id])),
    );

  /** Where a worktree does not answer, its sessions count as busy, and the others do not wait for it. */
  const busyThere = async (directory: string): Promise<string[]> => {
    const busy = await busyIn(directory);
    return busy.ok ? busy.value : sessionDirectories.sessionsIn(directory);
  };

  /** Replies to a request in the directory of the session that made it, which the request does not say. */
  const whereOpen = async (
    reply: (place: { directory?: string }) => Promise<HostResult<void>>,
  ): Promise<HostResult<void>> => {
    let replied = await reply({});
    for (const directory of sessionDirectories.all()) {
      if (replied.ok || replied.failure.kind !== "notFound") break;
      replied = await reply({ directory });
    }
    return replied;
  };

  return {
    agents: () =>
      read(
        (options) => client.app.agents({}, options),
        (agents) =>
          agents.map(({ name, mode, hidden, model, variant }) => ({
            name,
            hidden: hidden === true,
            ...(mode === "primary" ? { isPrimary: true } : {}),
            model: model ? toModelRef(model.providerID, model.modelID, variant) : undefined,
          })),
        LIST_TIMEOUT_MS,
      ),
    models: () =>
      read(
        (options) => client.config.providers({}, options),
        ({ providers }) =>
          providers.flatMap(({ id: providerID, models }) =>
            Object.entries(models).map(([modelID, { variants, limit }]) => ({
              providerID,
              modelID,
              variants: Object.keys(variants ?? {}),
              // A model of the user's own, of which the configuration does not say it, has 0.
              ...(limit?.context > 0 ? { limits: { context: limit.context, output: limit.output } } : {}),
            })),
          ),
        LIST_TIMEOUT_MS,
      ),
    session: (sessionID) => read((options) => client.session.get({ sessionID }, options), toHostSession),
    createSession: ({ model, directory, ...session }) => {
      const modelField = model && { id: model.modelID, providerID: model.providerID, ...variantField(model.variant) };
      const fields = { ...session, ...inDirectory(directory), ...(modelField ? { model: modelField } : {}) };
      return read((options) => client.session.create(fields, options), idOf, CREATE_TIMEOUT_MS);
    },
    moveSession: (sessionID, directory) =>
      perform((options) =>
        client.experimental.controlPlane.moveSession({ sessionID, destination: { directory } }, options),
      ),
    closeDirectory: (directory) => perform((options) => client.instance.dispose({ directory }, options)),
    deleteSession: (sessionID) => perform((options) => client.session.delete({ sessionID }, options)),
    children: (sessionID) =>
      read(
        (options) => client.session.children({ sessionID }, options),
        (sessions) => sessions.map(({ id }) => id),
      ),
    fork: (sessionID, messageID) =>
      read((options) => client.session.fork({ sessionID, messageID }, options), idOf, FORK_TIMEOUT_MS),
    forkedMessages: (sessionID) => read(messagesOf(sessionID), (messages) => messages.map(toForkedMessage)),
    rewritePart: (sessionID, messageID, part) =>
      perform((options) =>
        client.part.update({ sessionID, messageID, partID: part.id, part: withText(part) }, options),
      ),
    deleteMessage: (sessionID, messageID) =>
      perform((options) => client.session.deleteMessage({ sessionID, messageID }, options)),
    updateSession: (sessionID, changes) =>
      perform((options) => client.session.update({ sessionID, ...changes }, options)),
    prompt: (prompt) => perform((options) => client.session.promptAsync(toPromptBody(prompt), options)),
    storeMessage: (message) =>
      perform((options) => client.session.prompt({ ...toPromptBody(message), noReply: true }, options)),
    // A deleted session works on, and is aborted only where its directory is named.
    abort: (sessionID) =>
      perform((options) =>
        client.session.abort({ sessionID, ...inDirectory(sessionDirectories.of(sessionID)) }, options),
      ),
    busy: async () => {
      const [here, ...there] = await Promise.all([busyIn(undefined), ...sessionDirectories.all().map(busyThere)]);
      return here.ok ? { ok: true, value: new Set([...here.value, ...there.flat()]) } : here;
    },
    messages: (sessionID, limit) => read(messagesOf(sessionID, limit), (messages) => messages.map(readMessageWithText)),
    conversation: (sessionID) =>
      read(messagesOf(sessionID), (messages) =>
        messages.map(({ info, parts }) => ({ id: info.id, role: info.role, parts: parts.flatMap(toSpokenParts) })),
      ),
    runEvents: (sessionID, messageID) => read(messagesOf(sessionID), (messages) => storedEvents(messages, messageID)),
    sessionsSince: (at) =>
      read(
        (options) => client.session.list({ start: at, limit: LIST_LIMIT, scope: "project" }, options),
        (sessions) =>
          sessions.map(({ id, parentID, title, metadata, time }) => ({
            createdAt: time.created,
            id,
            parentID: parentID ?? undefined,
            title,
            metadata: metadata ?? {},
          })),
      ),
    allSessions: () =>
      read(
        (options) => client.session.list({ limit: NO_LIMIT, scope: "project" }, options),
        (sessions) => new Set(sessions.map(({ id }) => id)),
      ),
    toolCall: async (sessionID, callID) => {
      const stages = await read(messagesOf(sessionID, RECENT_MESSAGES), (messages) =>
        messages.flatMap(({ parts }) => parts.flatMap(stagesOfCall(callID))),
      );
      if (!stages.ok) return stages;
      const stage = stages.value.at(-1);
      if (stage) return { ok: true, value: stage };
      const message = `session ${sessionID} has no recent tool call ${callID}`;
      return { ok: false, failure: { kind: "notFound", name: "NotFound", message } };
    },
    rawMessages: (sessionID) => read(messagesOf(sessionID), (messages) => messages),
    message: (sessionID, messageID) =>
      read(
        (options) => client.session.message({ sessionID, messageID }, options),
        (message) => ({ ...readMessageWithText(message), partIDs: message.parts.map(({ id }) => id) }),
      ),
    answerUserRequest: async ({ id: requestID }, { reply, message, answers }) => {
      if (answers) {
        return whereOpen((place) =>
          perform((options) => client.question.reply({ requestID, answers, ...place }, options)),
        );
      }
      if (!reply) throw new Error(`Request ${requestID} got neither a reply nor answers.`);
      const reason = message === undefined ? {} : { message };
      return whereOpen((place) =>
        perform((options) => client.permission.reply({ requestID, reply, ...reason, ...place }, options)),
      );
    },
    rejectUserRequest: ({ id: requestID, kind }, message) =>
      whereOpen((place) =>
        perform((options) =>
          kind === "permission"
            ? client.permission.reply({ requestID, reply: "reject", message, ...place }, options)
            : client.question.reject({ requestID, ...place }, options),
        ),
      ),
    toast: (toast) => perform((options) => client.tui.showToast(toast, options)),
  };
};
