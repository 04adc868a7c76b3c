import type { MessageInfo } from "../../machines/supervisor/events.ts";
import type { ListedSession } from "../host/host.ts";

/** Messages that are compared, the newest of a copy with those that were to be copied. */
export const COMPARED_MESSAGES = 4;

/** What the host calls each copy of a conversation. */
const COPY_TITLE = / \(fork #\d+\)$/;

/** True for a session that may be the copy which a launch asked for at that time, going by what a list says. */
export const mayBeFork = ({ parentID, title, createdAt }: ListedSession, launchedAt: number): boolean =>
  parentID === undefined && createdAt >= launchedAt && COPY_TITLE.test(title);

const isBeingWritten = ({ role, isSummary, createdAt, completedAt }: MessageInfo, at: number): boolean =>
  role === "assistant" && !isSummary && createdAt < at && (completedAt === undefined || completedAt >= at);

/** What stood before the message that called the tool. */
const beforeStep = (parent: MessageInfo[], launchedAt: number): MessageInfo[] => {
  const step = parent.findLastIndex((message) => isBeingWritten(message, launchedAt));
  return parent.slice(0, Math.max(0, step));
};

/**
 * True when the newest messages of a copy show that a launch asked for it, and that nobody has used it since.
 *
 * A launch copies what stands before the assistant's message that calls the tool, which is being written. People copy
 * whole conversations, that message included, or what stands before one of their own messages: so say all interfaces of
 * OpenCode (terminal, web, desktop, ACP, `run --fork`), and a copy begun later has whatever was there before. No such
 * copy ends where a launch's does. A copy that is not whole proves nothing, and neither does one that has grown.
 *
 * `parent` and `copy` are the newest messages of both, oldest first; a copy's keep their times.
 */
export const isForkOfLaunch = (copy: MessageInfo[], parent: MessageInfo[], launchedAt: number): boolean => {
  const wanted = beforeStep(parent, launchedAt).slice(-COMPARED_MESSAGES);
  const newest = copy.slice(-COMPARED_MESSAGES);
  return (
    wanted.length > 0 &&
    wanted.length === newest.length &&
    wanted.every(({ role, createdAt }, at) => newest[at]?.role === role && newest[at]?.createdAt === createdAt)
  );
};
