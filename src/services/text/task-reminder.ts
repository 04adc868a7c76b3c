import { hasEnded, type Task } from "../../task.ts";
import { lines, nameOf, type OwnText, own, quoteLine } from "./own-text.ts";
import type { ToolNames } from "./tool-names.ts";
import { attentionSummary } from "./user-request.ts";

/** Ended tasks that are named; of older ones an agent seldom needs to know more than that they were there. */
const ENDED = 20;

/** Characters of a description that are shown: an agent may have put its whole prompt there. */
const SHOWN = 100;

const line = (task: Task): OwnText => {
  const { sessionID, description, agent, status } = task;
  const waits = attentionSummary(task) === undefined ? "" : ", waits for the user";
  const what = quoteLine(description.replaceAll(/<(?=\s*\/?\s*task-context)/gi, "‹"), SHOWN);
  return own`- ${nameOf(sessionID)} ${what} (${nameOf(agent)}): ${status}${waits}`;
};

/** Tasks with a heading; nothing where there are none. */
const under = (heading: "Active:" | "Ended:", tasks: Task[]): OwnText =>
  tasks.length === 0 ? own`` : lines(heading, ...tasks.map(line));

const BEGIN = "<task-context>";

/** True for what `taskContext` says. */
export const isTaskReminder = (text: string | undefined): boolean => text?.startsWith(BEGIN) ?? false;

const COLLECT =
  "This run of OpenCode ends with your answer, and they with it: collect their results before you answer.";
const NOTICE = "A notice comes when one ends; those that run need nothing from you.";

const calls = ({ output, list, resume }: ToolNames): OwnText =>
  lines(
    output ? own`${nameOf(output)}(task_id="…") shows how a task stands and what it answered.` : "",
    resume ? own`${nameOf(resume)}(resume="…", prompt="…") follows up on a completed one.` : "",
    list ? own`${nameOf(list)}() lists them all.` : "",
  );

/**
 * What an agent has to know of tasks that its conversation does not show any more, those that still run first: whoever
 * sums up may leave off the end. Undefined where it has none.
 * `isHeadless`: the host ends with the agent's answer.
 */
export const taskReminder = (tasks: Task[], tools: ToolNames, isHeadless: boolean): OwnText | undefined => {
  if (tasks.length === 0) return undefined;
  const live = tasks.filter((task) => !hasEnded(task));
  const ended = tasks.filter(hasEnded);
  const older = ended.length - ENDED;
  return lines(
    BEGIN,
    "Automated. Tasks that this conversation launched, as they stand, whatever became of the messages and calls that launched them. Do not launch again what runs or has completed.",
    under("Active:", live),
    under("Ended:", ended.slice(-ENDED)),
    older > 0 ? own`And ${older} older ones, all ended.` : "",
    live.length === 0 ? "" : isHeadless ? COLLECT : NOTICE,
    calls(tools),
    "</task-context>",
  );
};
