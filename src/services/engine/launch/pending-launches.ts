import type { MessageInfo } from "../../../machines/host-events.ts";
import type { LaunchEvent, PendingLaunch } from "../../../machines/launch/events.ts";
import type { ListedSession } from "../../host/host.ts";
import type { EffectOf } from "../../runtime/effects.ts";
import type { EngineContext } from "../context.ts";

/*
 * How sessions are found that were created for a launch, and deleted where it led to no task.
 */

/** Returns the metadata by which a session that was created for a launch is found again. */
export const launchMetadata = (parentSessionID: string, launch: string): Record<string, unknown> => ({
  taskchart: { parentSessionID, launch },
});

const isSessionOf = ({ metadata }: ListedSession, launch: string): boolean => {
  const ours = metadata.taskchart;
  return typeof ours === "object" && ours !== null && "launch" in ours && ours.launch === launch;
};

/** Finds the session created for a launch by its metadata. Undefined: there is none yet, or the host did not respond. */
export const findSession = async ({ host }: EngineContext, launch: PendingLaunch): Promise<string | undefined> => {
  const listed = await host.sessionsSince(launch.at);
  return listed.ok ? listed.value.find((session) => isSessionOf(session, launch.messageID))?.id : undefined;
};

/** Number of the parent's newest messages that are read: enough to include everything since the launch. */
const PARENT_MESSAGES = 200;

/** True when the session must be the launch's fork; undefined when the host did not respond. */
const isProvenFork = async (
  { host }: EngineContext,
  sessionID: string,
  { parentSessionID, at }: PendingLaunch,
): Promise<boolean | undefined> => {
  const [copy, parent] = await Promise.all([
    host.messages(sessionID, COMPARED_MESSAGES),
    host.messages(parentSessionID, PARENT_MESSAGES),
  ]);
  if (copy.ok && parent.ok) return isForkOfLaunch(copy.value, parent.value, at);
  const isDeleted = [copy, parent].some((read) => !read.ok && read.failure.kind === "notFound");
  return isDeleted ? false : undefined;
};

/**
 * Returns the sessions that must be forks for the launch, though without metadata, and that no other launch has; undefined if that
 * is unknown now.
 */
const unmarkedForks = async (
  ctx: EngineContext,
  listed: ListedSession[],
  { pending, isFinal }: EffectOf<"removeSessions">,
): Promise<string[] | undefined> => {
  const candidates = listed.filter((session) => mayBeFork(session, pending.at) && !ctx.store.get(session.id));
  const proofs = await Promise.all(candidates.map(({ id }) => isProvenFork(ctx, id, pending)));
  if (proofs.includes(undefined)) return undefined;
  const ours = candidates.filter((_, index) => proofs[index]).map(({ id }) => id);
  const unproven = candidates.filter(({ id }) => !ours.includes(id)).map(({ id }) => id);
  if (isFinal && ours.length === 0 && unproven.length > 0) {
    ctx.log.info("forks are left alone: one may belong to an interrupted launch, but a person may have made it", {
      forks: unproven,
    });
  }
  return ctx.launches.takeCopies(ours, pending.messageID);
};

/** Returns the sessions that were created for the launch; undefined if that is unknown now. */
const sessionsOf = async (
  ctx: EngineContext,
  effect: EffectOf<"removeSessions">,
): Promise<readonly string[] | undefined> => {
  const { host, log, runtime } = ctx;
  const { launchId, pending } = effect;
  const isCopying = () => runtime.isCopyingFor(pending.parentSessionID, launchId);
  // Checked before and after the call: a fork for another launch of the same parent may have no metadata yet.
  const wasCopying = pending.fork && isCopying();
  const listed = await host.sessionsSince(pending.at);
  if (!listed.ok) {
    log.error("could not search for the session of a launch", { ...pending, reason: listed.failure.message });
    return undefined;
  }
  const ours = listed.value.filter((session) => isSessionOf(session, pending.messageID)).map(({ id }) => id);
  if (ours.length > 0 || !pending.fork) return ours;
  return wasCopying || isCopying() ? undefined : unmarkedForks(ctx, listed.value, effect);
};

/** Deletes a session of the launch. Returns why it may still be there; undefined when it is gone. */
const deleteSession = async (
  { host }: EngineContext,
  id: string,
  { at }: PendingLaunch,
): Promise<string | undefined> => {
  const deleted = await host.deleteSession(id);
  if (deleted.ok) return undefined;
  if (deleted.failure.kind !== "notFound") return deleted.failure.message;
  // The host answers so for other reasons, too. The session was created after the launch began: then it is listed.
  const listed = await host.sessionsSince(at);
  if (!listed.ok) return listed.failure.message;
  return listed.value.some((session) => session.id === id) ? deleted.failure.message : undefined;
};

/** Deletes the sessions of a launch that led to no task, and what is stored of them once nothing remains to be done. */
export const removeSessions = async (ctx: EngineContext, effect: EffectOf<"removeSessions">): Promise<LaunchEvent> => {
  const { store, clock, log, launches } = ctx;
  const { pending, isFinal } = effect;
  if (pending.fork) launches.takeCopies(effect.sessions ?? [], pending.messageID);
  const sessions = effect.sessions ?? (await sessionsOf(ctx, effect));
  if (!sessions || (sessions.length === 0 && !isFinal)) return { type: "SESSIONS_LEFT", at: clock.now() };
  for (const id of sessions) {
    // The launch may have got as far as creating its task.
    if (store.get(id)) continue;
    const reason = await deleteSession(ctx, id, pending);
    if (reason !== undefined) {
      log.error("could not delete the unused session of a launch", { sessionID: id, reason });
      // Where the host does not confirm that it has deleted one, it may not list it any more.
      return { type: "SESSIONS_LEFT", at: clock.now(), sessions };
    }
    log.info("deleted the unused session of a launch", { sessionID: id });
  }
  store.endLaunch(pending.messageID);
  return { type: "SESSIONS_REMOVED", at: clock.now() };
};

/** Number of newest messages that are compared between a copy and the conversation that was to be copied. */
export const COMPARED_MESSAGES = 4;

/** How the title of every fork ends. */
const COPY_TITLE = / \(fork #\d+\)$/;

/** True for a listed session that may be the copy requested by a launch at that time. */
export const mayBeFork = ({ parentID, title, createdAt }: ListedSession, launchedAt: number): boolean =>
  parentID === undefined && createdAt >= launchedAt && COPY_TITLE.test(title);

const isBeingWritten = ({ role, isSummary, createdAt, completedAt }: MessageInfo, at: number): boolean =>
  role === "assistant" && !isSummary && createdAt < at && (completedAt === undefined || completedAt >= at);

/** Returns the messages before the assistant message that called the launching tool. */
const messagesToCopy = (parent: MessageInfo[], launchedAt: number): MessageInfo[] => {
  const launching = parent.findLastIndex((message) => isBeingWritten(message, launchedAt));
  return parent.slice(0, Math.max(0, launching));
};

/**
 * True when the newest messages of a copy prove that a launch requested it and that nobody has used it since.
 *
 * A launch copies everything before the assistant message that calls the tool and is still being written. People copy
 * whole conversations, including that message, or everything before one of their own messages: that is what all
 * interfaces of OpenCode offer (terminal, web, desktop, ACP, `run --fork`), and a copy made later contains whatever came
 * before it. So no copy made by a person ends where a launch's copy ends. A copy that is incomplete or has grown proves
 * nothing.
 *
 * `parent` and `copy` are the newest messages of the two sessions, oldest first. Copied messages keep their times.
 */
export const isForkOfLaunch = (copy: MessageInfo[], parent: MessageInfo[], launchedAt: number): boolean => {
  const expected = messagesToCopy(parent, launchedAt).slice(-COMPARED_MESSAGES);
  const newest = copy.slice(-COMPARED_MESSAGES);
  return (
    expected.length > 0 &&
    expected.length === newest.length &&
    expected.every(({ role, createdAt }, at) => newest[at]?.role === role && newest[at]?.createdAt === createdAt)
  );
};
