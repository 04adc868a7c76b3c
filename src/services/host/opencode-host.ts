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
  CREATE_TIMEOUT_MS,
  callSdk,
  connect,
  FORK_TIMEOUT_MS,
  LIST_TIMEOUT_MS,
  mapResult,
  withoutValue,
} from "./sdk-client.ts";

/** Number of newest messages searched for a tool call. A blocking call is in the newest, unless prompts arrived since. */
const RECENT_MESSAGES = 20;

/** Most sessions that one list of recent sessions returns. */
const LIST_LIMIT = 1_000;

/** Returns a call's parameter that names a directory; without one, the client names the plugin's own. */
const inDirectory = (directory: string | undefined): { directory?: string } =>
  directory === undefined ? {} : { directory };

/** More sessions than any directory has: without a limit, the host lists only a hundred. */
const NO_LIMIT = 1_000_000;

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

  const busyIn = async (directory: string | undefined): Promise<HostResult<string[]>> =>
    mapResult(await callSdk((signal) => client.session.status(inDirectory(directory), { signal })), (statuses) =>
      Object.entries(statuses).flatMap(([id, status]) => (status.type === "idle" ? [] : [id])),
    );

  /** Where a worktree does not answer, its sessions count as busy, and the others do not wait for it. */
  const busyThere = async (directory: string): Promise<string[]> => {
    const busy = await busyIn(directory);
    return busy.ok ? busy.value : sessionDirectories.sessionsIn(directory);
  };

  /** Replies to a request in the directory of the session that made it, which the request does not say. */
  const whereOpen = async (
    reply: (place: { directory?: string }) => Promise<HostResult<unknown>>,
  ): Promise<HostResult<void>> => {
    let replied = await reply({});
    for (const directory of sessionDirectories.all()) {
      if (replied.ok || replied.failure.kind !== "notFound") break;
      replied = await reply({ directory });
    }
    return withoutValue(replied);
  };

  return {
    agents: async () =>
      mapResult(await callSdk((signal) => client.app.agents({}, { signal }), LIST_TIMEOUT_MS), (agents) =>
        agents.map(({ name, mode, hidden, model, variant }) => ({
          name,
          hidden: hidden === true,
          ...(mode === "primary" ? { isPrimary: true } : {}),
          model: model ? toModelRef(model.providerID, model.modelID, variant) : undefined,
        })),
      ),
    models: async () =>
      mapResult(await callSdk((signal) => client.config.providers({}, { signal }), LIST_TIMEOUT_MS), ({ providers }) =>
        providers.flatMap(({ id: providerID, models }) =>
          Object.entries(models).map(([modelID, { variants, limit }]) => ({
            providerID,
            modelID,
            variants: Object.keys(variants ?? {}),
            // A model of the user's own, of which the configuration does not say it, has 0.
            ...(limit?.context > 0 ? { limits: { context: limit.context, output: limit.output } } : {}),
          })),
        ),
      ),
    session: async (sessionID) =>
      mapResult(await callSdk((signal) => client.session.get({ sessionID }, { signal })), toHostSession),
    createSession: async ({ model, directory, ...session }) =>
      mapResult(
        await callSdk(
          (signal) =>
            client.session.create(
              {
                ...session,
                ...inDirectory(directory),
                ...(model
                  ? { model: { id: model.modelID, providerID: model.providerID, ...variantField(model.variant) } }
                  : {}),
              },
              { signal },
            ),
          CREATE_TIMEOUT_MS,
        ),
        ({ id }) => ({ id }),
      ),
    moveSession: async (sessionID, directory) =>
      withoutValue(
        await callSdk((signal) =>
          client.experimental.controlPlane.moveSession({ sessionID, destination: { directory } }, { signal }),
        ),
      ),
    closeDirectory: async (directory) =>
      withoutValue(await callSdk((signal) => client.instance.dispose({ directory }, { signal }))),
    deleteSession: async (sessionID) =>
      withoutValue(await callSdk((signal) => client.session.delete({ sessionID }, { signal }))),
    children: async (sessionID) =>
      mapResult(await callSdk((signal) => client.session.children({ sessionID }, { signal })), (sessions) =>
        sessions.map(({ id }) => id),
      ),
    fork: async (sessionID, messageID) =>
      mapResult(
        await callSdk((signal) => client.session.fork({ sessionID, messageID }, { signal }), FORK_TIMEOUT_MS),
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
      withoutValue(await callSdk((signal) => client.session.promptAsync(toPromptBody(prompt), { signal }))),
    storeMessage: async (message) =>
      withoutValue(
        await callSdk((signal) => client.session.prompt({ ...toPromptBody(message), noReply: true }, { signal })),
      ),
    abort: async (sessionID) =>
      // A deleted session works on, and is aborted only where its directory is named.
      withoutValue(
        await callSdk((signal) =>
          client.session.abort({ sessionID, ...inDirectory(sessionDirectories.of(sessionID)) }, { signal }),
        ),
      ),
    busy: async () => {
      const [here, ...there] = await Promise.all([busyIn(undefined), ...sessionDirectories.all().map(busyThere)]);
      return here.ok ? { ok: true, value: new Set([...here.value, ...there.flat()]) } : here;
    },
    messages: async (sessionID, limit) =>
      mapResult(await callSdk((signal) => client.session.messages({ sessionID, limit }, { signal })), (messages) =>
        messages.map(readMessageWithText),
      ),
    conversation: async (sessionID) =>
      mapResult(await callSdk((signal) => client.session.messages({ sessionID }, { signal })), (messages) =>
        messages.map(({ info, parts }) => ({ id: info.id, role: info.role, parts: parts.flatMap(toSpokenParts) })),
      ),
    runEvents: async (sessionID, messageID) =>
      mapResult(await callSdk((signal) => client.session.messages({ sessionID }, { signal })), (messages) =>
        storedEvents(messages, messageID),
      ),
    sessionsSince: async (at) =>
      mapResult(
        await callSdk((signal) => client.session.list({ start: at, limit: LIST_LIMIT, scope: "project" }, { signal })),
        (sessions) =>
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
        await callSdk((signal) => client.session.list({ limit: NO_LIMIT, scope: "project" }, { signal })),
        (sessions) => new Set(sessions.map(({ id }) => id)),
      ),
    toolCall: async (sessionID, callID) => {
      const newest = await callSdk((signal) =>
        client.session.messages({ sessionID, limit: RECENT_MESSAGES }, { signal }),
      );
      const stages = mapResult(newest, (messages) =>
        messages.flatMap(({ parts }) => parts.flatMap(stagesOfCall(callID))),
      );
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
        ...readMessageWithText(message),
        partIDs: message.parts.map(({ id }) => id),
      })),
    answerUserRequest: async ({ id }, { reply, message, answers }) => {
      if (answers) {
        return whereOpen((place) =>
          callSdk((signal) => client.question.reply({ requestID: id, answers, ...place }, { signal })),
        );
      }
      if (!reply) throw new Error(`Request ${id} got neither a reply nor answers.`);
      const reason = message === undefined ? {} : { message };
      return whereOpen((place) =>
        callSdk((signal) => client.permission.reply({ requestID: id, reply, ...reason, ...place }, { signal })),
      );
    },
    rejectUserRequest: async ({ id, kind }, message) =>
      whereOpen((place) =>
        kind === "permission"
          ? callSdk((signal) =>
              client.permission.reply({ requestID: id, reply: "reject", message, ...place }, { signal }),
            )
          : callSdk((signal) => client.question.reject({ requestID: id, ...place }, { signal })),
      ),
    toast: async (toast) => withoutValue(await callSdk((signal) => client.tui.showToast(toast, { signal }))),
  };
};
