import type { MessageInfo } from "../../../machines/host-events.ts";
import type { ListedSession } from "../../host/host.ts";

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
