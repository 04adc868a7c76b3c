import { hasEnded, type ListedTask, type Task } from "../../task.ts";
import { duration } from "./amounts.ts";
import type { ToolNames } from "./notice-text.ts";
import { join, lines, nameOf, type OwnText, own, quoteLine } from "./own-text.ts";
import { attentionSummary, SHORT_CHARS } from "./request-text.ts";
import { queueSummary } from "./task-state.ts";

/** Characters of each description that are shown. */
const SHOWN_CHARS = 100;

/** What a reminder shows of a task. */
type RemindedTask = Pick<ListedTask, "sessionID" | "description" | "agent" | "status" | "attention" | "queue">;

const line = (task: RemindedTask): OwnText => {
  const { sessionID, description, agent, status } = task;
  const queued = queueSummary(task);
  const waits = attentionSummary(task) ? own`, waiting for the user` : queued ? own`, ${queued}` : own``;
  const what = quoteLine(description.replaceAll(/<(?=\s*\/?\s*task-context)/gi, "‹"), SHOWN_CHARS);
  return own`- ${nameOf(sessionID)} ${what} (${nameOf(agent)}): ${status}${waits}`;
};

/** Lists tasks under a heading; empty without tasks. */
const section = (heading: "Active:" | "Ended:", tasks: RemindedTask[]): OwnText =>
  tasks.length === 0 ? own`` : lines(heading, ...tasks.map(line));

const BEGIN = "<task-context>";

/** True for a text that `taskReminder` wrote. */
export const isTaskReminder = (text: string | undefined): boolean => text?.startsWith(BEGIN) ?? false;

const COLLECT_FIRST =
  "This run of OpenCode ends with your answer, and the tasks with it: collect their results before you answer.";
const NOTICES_COME = "You get a notice when a task ends; running tasks need nothing from you.";

const calls = ({ output, list, resume }: ToolNames): OwnText =>
  lines(
    output ? own`${nameOf(output)}(task_id="…") shows the status and result of a task.` : "",
    resume ? own`${nameOf(resume)}(resume="…", prompt="…") sends a completed task a follow-up.` : "",
    list ? own`${nameOf(list)}() lists all tasks.` : "",
  );

/**
 * Writes the reminder of a session's tasks for its agent, whose conversation may no longer show them (after compaction).
 * Running tasks come first, since a summary may drop the end. Returns undefined if there are no tasks.
 * @param maxEnded How many ended tasks are named, the newest; the others are only counted.
 * @param isHeadless True if the host ends with the agent's answer, as `opencode run` does.
 */
export const taskReminder = (
  tasks: RemindedTask[],
  tools: ToolNames,
  { maxEnded, isHeadless }: { maxEnded: number; isHeadless: boolean },
): OwnText | undefined => {
  if (tasks.length === 0) return undefined;
  const live = tasks.filter((task) => !hasEnded(task));
  const ended = tasks.filter(hasEnded);
  const named = maxEnded === 0 ? [] : ended.slice(-maxEnded);
  const others = ended.length - named.length;
  return lines(
    BEGIN,
    "Automated. The tasks that this conversation launched, with their current status, even if the messages that launched them are gone. Do not launch a task again that is running or has completed.",
    section("Active:", live),
    section("Ended:", named),
    others > 0 ? own`And ${others} ${named.length > 0 ? "older ones, all ended" : "that ended"}.` : "",
    live.length === 0 ? "" : isHeadless ? COLLECT_FIRST : NOTICES_COME,
    calls(tools),
    "</task-context>",
  );
};

type NamedTask = Pick<Task, "sessionID" | "description">;

/** Reports to a person that a task has shown no sign of life for that many milliseconds. */
export const staleToast = ({ description }: NamedTask, silentFor: number): OwnText =>
  own`Task ${quoteLine(description, SHOWN_CHARS)} has shown no sign of life for ${duration(silentFor)}. It goes on, and may be stuck.`;

/** Reports to the parent's agent the same, and what it can do. */
export const staleNote = ({ sessionID, description }: NamedTask, silentFor: number, { output }: ToolNames): OwnText =>
  lines(
    own`Automated. Task ${nameOf(sessionID)} ${quoteLine(description, SHOWN_CHARS)} has shown no sign of life for ${duration(silentFor)}. It may be stuck, or wait for its model.`,
    output === undefined
      ? ""
      : own`${nameOf(output)}(task_id=${quoteLine(sessionID)}) shows how far it has come. Cancel it if it is stuck; if not, it needs nothing from you.`,
  );

/**
 * Reports to a person how many runs this process has taken over from another one and goes on with, and which of their requests
 * are open no more.
 */
export const takeoverToast = (count: number, lostRequests: readonly string[]): OwnText => {
  const tasks = count === 1 ? own`1 task` : own`${count} tasks`;
  const takenOver = own`Took over ${tasks} of an OpenCode that has ended or does not answer.`;
  if (lostRequests.length === 0) return takenOver;
  const requests = join(
    lostRequests.map((what) => quoteLine(what, SHORT_CHARS)),
    ", ",
  );
  return own`${takenOver} These requests were lost with it: ${requests}. That step is done again, and you may be asked again.`;
};

/** Explains to the agent of a task why its tool call was not made: it is stopped at that moment. */
export const WORKED_ON_ELSEWHERE =
  "This call was not made: OpenCode was suspended, and another OpenCode process has taken over this task and continues it.";
