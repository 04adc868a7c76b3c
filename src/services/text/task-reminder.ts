import { hasEnded, type ListedTask } from "../../task.ts";
import type { ToolNames } from "./notice.ts";
import { lines, nameOf, type OwnText, own, quoteLine } from "./own-text.ts";
import { queueSummary } from "./queue.ts";
import { attentionSummary } from "./user-request.ts";

/** Ended tasks that are listed. Older ones are only counted: an agent seldom needs more of them. */
const MAX_ENDED = 20;

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
 * @param isHeadless True if the host ends with the agent's answer, as `opencode run` does.
 */
export const taskReminder = (tasks: RemindedTask[], tools: ToolNames, isHeadless: boolean): OwnText | undefined => {
  if (tasks.length === 0) return undefined;
  const live = tasks.filter((task) => !hasEnded(task));
  const ended = tasks.filter(hasEnded);
  const older = ended.length - MAX_ENDED;
  return lines(
    BEGIN,
    "Automated. The tasks that this conversation launched, with their current status, even if the messages that launched them are gone. Do not launch a task again that is running or has completed.",
    section("Active:", live),
    section("Ended:", ended.slice(-MAX_ENDED)),
    older > 0 ? own`And ${older} older ones, all ended.` : "",
    live.length === 0 ? "" : isHeadless ? COLLECT_FIRST : NOTICES_COME,
    calls(tools),
    "</task-context>",
  );
};
