import { hasEnded, type Task } from "../task.ts";
import { askedIn } from "./asked.ts";
import { inShort } from "./plain.ts";
import type { ToolNames } from "./tool-names.ts";

/** Ended tasks that are named; of older ones an agent seldom needs to know more than that they were there. */
const ENDED = 20;

/** Characters of a description that are shown: an agent may have put its whole prompt there. */
const SHOWN = 100;

const line = (task: Task): string => {
  const { sessionID, description, agent, status } = task;
  const waits = askedIn(task) === undefined ? "" : ", waits for the user";
  const what = inShort(description, SHOWN).replaceAll(/<(?=\s*\/?\s*task-context)/gi, "‹");
  return `- ${sessionID} "${what}" (${agent}): ${status}${waits}`;
};

const BEGIN = "<task-context>";

/** True for what `taskContext` says. */
export const isTaskContext = (text: string | undefined): boolean => text?.startsWith(BEGIN) ?? false;

const COLLECT =
  "This run of OpenCode ends with your answer, and they with it: collect their results before you answer.";
const NOTICE = "A notice comes when one ends; those that run need nothing from you.";

const calls = ({ output, list, resume }: ToolNames, live: string): string[] => [
  live,
  output ? `${output}(task_id="…") shows how a task stands and what it answered.` : "",
  resume ? `${resume}(resume="…", prompt="…") follows up on a completed one.` : "",
  list ? `${list}() lists them all.` : "",
];

/**
 * What an agent has to know of tasks that its conversation does not show any more. Undefined where it has none.
 * `isHeadless`: the host ends with the agent's answer.
 */
export const taskContext = (tasks: Task[], tools: ToolNames, isHeadless: boolean): string | undefined => {
  if (tasks.length === 0) return undefined;
  const live = tasks.filter((task) => !hasEnded(task));
  const ended = tasks.filter(hasEnded);
  const older = ended.length - ENDED;
  return [
    BEGIN,
    "Automated. Tasks that this conversation launched, as they stand, whatever became of the messages and calls that launched them. Do not launch again what runs or has completed.",
    ...[...ended.slice(-ENDED), ...live].map(line),
    older > 0 ? `And ${older} older ones, all ended.` : "",
    ...calls(tools, live.length === 0 ? "" : isHeadless ? COLLECT : NOTICE),
    "</task-context>",
  ]
    .filter((text) => text !== "")
    .join("\n");
};
