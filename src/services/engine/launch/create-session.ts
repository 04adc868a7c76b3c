import type { LaunchEvent, PendingLaunch } from "../../../machines/launch/events.ts";
import type { Worktree } from "../../../task.ts";
import type { HostFailure, HostResult, NewSession } from "../../host/host.ts";
import { errorMessage } from "../../platform/log.ts";
import type { EffectOf } from "../../runtime/effects.ts";
import { conversationText } from "../../text/transcript.ts";
import type { EngineContext } from "../context.ts";
import { forkPreamble, planFork, textPreamble } from "./fork-plan.ts";
import type { LaunchCall } from "./launches-under-way.ts";
import { launchMetadata } from "./pending-launches.ts";

/*
 * What the chart of a launch asks of OpenCode while a session is created and prepared for its first prompt.
 */

const describeFailure = ({ name, message }: HostFailure): string => `${name}: ${message}`;

/** Returns the session that a task is to have. */
const sessionFor = (
  { request, plan }: LaunchCall,
  { parentSessionID, messageID }: PendingLaunch,
  worktree: Worktree | undefined,
): NewSession => ({
  parentID: parentSessionID,
  title: `${plan.description} (@${request.agent} subagent)`,
  agent: request.agent,
  model: plan.model,
  permission: plan.permission,
  ...(worktree ? { directory: worktree.directory } : {}),
  metadata: launchMetadata(parentSessionID, messageID),
});

/** Creates the session, in one call to the host; before that it is stored that there may be one. */
export const createSession = async (
  { host, store, clock, log }: EngineContext,
  call: LaunchCall,
  { pending, source, worktree }: EffectOf<"createSession">,
): Promise<LaunchEvent> => {
  const { parentSessionID, parentMessageID } = call.request;
  store.beginLaunch(pending);
  const created = await (source === "copy"
    ? host.fork(parentSessionID, parentMessageID)
    : host.createSession(sessionFor(call, pending, worktree)));
  const at = clock.now();
  if (created.ok) return { type: "SESSION_CREATED", at, sessionID: created.value.id };
  const reason = describeFailure(created.failure);
  if (created.failure.kind !== "unavailable") return { type: "CREATION_REFUSED", at, reason };
  log.error("OpenCode did not say whether it created a session for a launch", { ...pending, reason });
  return { type: "CREATION_UNCONFIRMED", at, reason };
};

/** Number of concurrent calls that change a forked session. More gain nothing: the host executes them one by one. */
const CONCURRENT_CALLS = 8;

const orThrow = <T>(result: HostResult<T>): T => {
  if (result.ok) return result.value;
  throw new Error(describeFailure(result.failure));
};

/** Applies a change to all items, a few at a time. @throws Error when the host did not make one of the changes. */
const changeAll = async <T>(items: T[], change: (item: T) => Promise<HostResult<void>>): Promise<void> => {
  for (let first = 0; first < items.length; first += CONCURRENT_CALLS) {
    for (const result of await Promise.all(items.slice(first, first + CONCURRENT_CALLS).map(change))) orThrow(result);
  }
};

/** Marks a copy of the conversation as ours, and cuts it to the limits. */
export const cutCopy = async (
  { host, clock, options }: EngineContext,
  call: LaunchCall,
  { sessionID: id, pending, worktree }: EffectOf<"cutCopy">,
): Promise<LaunchEvent> => {
  const { title, permission, metadata } = sessionFor(call, pending, worktree);
  try {
    // The metadata comes first, in a call of its own: until it is set, nobody can be sure which launch this copy
    // belongs to, and OpenCode stores title and metadata one after the other (a kill in between was seen).
    orThrow(await host.updateSession(id, { metadata }));
    orThrow(await host.updateSession(id, { title, permission }));
    // A copy stays where the conversation was, whatever directory is named.
    if (worktree) orThrow(await host.moveSession(id, worktree.directory));
    const plan = planFork(orThrow(await host.forkedMessages(id)), options.fork);
    await changeAll(plan.cuts, (cut) => host.rewritePart(id, cut.messageID, cut.part));
    await changeAll(plan.drops, (dropped) => host.deleteMessage(id, dropped));
    call.preamble = forkPreamble(plan);
    return { type: "COPY_CUT", at: clock.now() };
  } catch (error) {
    return { type: "PREPARATION_FAILED", at: clock.now(), reason: errorMessage(error) };
  }
};

/** Reads the conversation that the host could not copy, up to the message that launches. */
export const readConversation = async (
  { host, ids, clock, log, options }: EngineContext,
  call: LaunchCall,
  { parentSessionID, reason }: EffectOf<"readConversation">,
): Promise<LaunchEvent> => {
  log.error("the host could not fork; the child gets the conversation as text", { parentSessionID, reason });
  const spoken = await host.conversation(parentSessionID);
  if (!spoken.ok) {
    return { type: "CONVERSATION_NOT_READ", at: clock.now(), reason: describeFailure(spoken.failure) };
  }
  const end = spoken.value.findIndex(({ id }) => id === call.request.parentMessageID);
  const before = end < 0 ? spoken.value : spoken.value.slice(0, end);
  const { text, isWhole } = conversationText(before, options.fork.maxTokens);
  call.preamble = textPreamble(text, isWhole);
  call.preambleMessage = undefined;
  return { type: "CONVERSATION_READ", at: clock.now(), messageID: ids.message() };
};

/** Stores the message that the agent reads before its first prompt, with the same ids each time. */
export const storePreamble = async (
  { host, ids, clock }: EngineContext,
  call: LaunchCall,
  { sessionID }: EffectOf<"storePreamble">,
): Promise<LaunchEvent> => {
  const { request, plan, preamble: text = "" } = call;
  call.preambleMessage ??= {
    ...{ sessionID, parts: ids.parts(1).map((id) => ({ id, text, synthetic: true })), messageID: ids.message() },
    ...{ agent: request.agent, model: plan.model },
  };
  const { messageID, parts } = call.preambleMessage;
  const sent = await host.storeMessage(call.preambleMessage);
  if (!sent.ok && sent.failure.kind !== "unavailable") {
    return { type: "PREPARATION_FAILED", at: clock.now(), reason: describeFailure(sent.failure) };
  }
  const stored = await host.message(sessionID, messageID);
  const isWhole = stored.ok && parts.every(({ id }) => stored.value.partIDs.includes(id));
  return { type: isWhole ? "PREAMBLE_STORED" : "PREAMBLE_NOT_STORED", at: clock.now() };
};
