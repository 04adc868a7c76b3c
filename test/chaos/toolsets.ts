import type { Toolset } from "../../src/options.ts";
import type { TaskStatus } from "../../src/task.ts";
import { PREFIX, READ_TOOL } from "../../src/tools/subtasks/subagents.ts";
import type { OnParentCancel } from "../../src/tools/subtasks/subtasks-toolset.ts";
import type { AgentCall, ReportedEnd, ToolCall, ToolsetWords, Wait } from "./agent-call.ts";

/** Says for each call that a toolset offers which tool it is. */
type Offers = { [Do in AgentCall["do"]]?: (call: Extract<AgentCall, { do: Do }>) => ToolCall | undefined };

const translate =
  (offers: Offers): ToolsetWords["toolCall"] =>
  (call) =>
    (offers[call.do] as ((call: AgentCall) => ToolCall | undefined) | undefined)?.(call);

/** Returns the arguments that have a value. */
const given = (args: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined));

const prompted = ({
  do: name,
  taskId,
  prompt,
}: Extract<AgentCall, { do: "resume" | "retry" | "steer" }>): ToolCall => ({
  tool: "task",
  args: { [name]: taskId, prompt },
});

const END_IN_LINE = /^- (\S+)(?: \S+)* · (completed|error|cancelled) · /gm;

const tasks: ToolsetWords = {
  toolCall: translate({
    launch: ({ title, prompt, agent, model, wake, isFork }) => ({
      tool: "task",
      args: given({ description: title, prompt, agent, model, wake, fork: isFork || undefined }),
    }),
    resume: prompted,
    retry: prompted,
    steer: prompted,
    read: ({ taskId, batchId, timeout }) => {
      const args = given({ task_id: taskId, batch_id: batchId });
      if (timeout === undefined) return { tool: "output", args };
      const read = batchId === undefined ? { taskId } : { batchId };
      const wait: Wait = { for: read, atMost: timeout, whenAborted: "goesOn" };
      return { tool: "output", args: { ...args, block: true, timeout }, wait };
    },
    cancel: ({ taskId }) => ({ tool: "cancel", args: taskId === undefined ? { all: true } : { task_id: taskId } }),
    clear: ({ taskId }) => ({ tool: "clear", args: given({ task_id: taskId }) }),
    list: () => ({ tool: "list", args: {} }),
  }),
  hasPriorities: false,
  isRefusal: () => false,
  launchedIn: (answer) => /^Task (\S+) is running/.exec(answer)?.[1],
  endsIn: (answer) => {
    const [, taskId] = /^Task ([^\s:]+)/.exec(answer) ?? [];
    const found = taskId
      ? [...answer.matchAll(/^Status: (completed|error|cancelled) after/gm)]
          .slice(0, 1)
          .map(([, status]) => [taskId, status])
      : [...answer.matchAll(END_IN_LINE)].map(([, id, status]) => [id, status]);
    return found.map(([id = "", status]) => ({ taskId: id, status: status as TaskStatus }));
  },
};

/** Returns what a field of an answer in JSON says, where that is a text. */
const fieldOf = (answer: string, name: string): string | undefined => {
  const value = (JSON.parse(answer) as Record<string, unknown>)[name];
  return typeof value === "string" ? value : undefined;
};

const endOf = (
  taskId: string | undefined,
  status: TaskStatus | undefined,
  result: string | undefined,
): ReportedEnd[] =>
  taskId === undefined || status === undefined
    ? []
    : [{ taskId, status, ...(status === "completed" ? { result } : {}) }];

const ELISHA_ENDS: Record<string, TaskStatus> = { completed: "completed", failed: "error", cancelled: "cancelled" };

/** True for an answer about no task: those about one name its agent. */
const isElishaRefusal = (answer: string): boolean => fieldOf(answer, "agent") === undefined;

const elisha: ToolsetWords = {
  toolCall: translate({
    launch: ({ title, prompt, agent, waits }) => ({
      tool: "elisha_task",
      args: { title, prompt, agent, ...(waits ? {} : { async: true }) },
      wait: waits ? { for: { launched: true }, atMost: Number.POSITIVE_INFINITY, whenAborted: "goesOn" } : undefined,
    }),
    read: ({ taskId, timeout }) => {
      if (taskId === undefined) return undefined;
      const args = { task_id: taskId };
      if (timeout === undefined) return { tool: "elisha_task_output", args };
      const wait: Wait = { for: { taskId }, atMost: timeout, whenAborted: "goesOn" };
      return { tool: "elisha_task_output", args: { ...args, wait: true, timeout }, wait };
    },
    cancel: ({ taskId }) =>
      taskId === undefined
        ? undefined
        : {
            tool: "elisha_task_cancel",
            args: { task_id: taskId },
            wait: { for: { taskId }, atMost: undefined, whenAborted: "goesOn" },
          },
  }),
  hasPriorities: false,
  isRefusal: isElishaRefusal,
  launchedIn: (answer) => fieldOf(answer, "task_id"),
  endsIn: (answer) =>
    isElishaRefusal(answer)
      ? []
      : endOf(fieldOf(answer, "task_id"), ELISHA_ENDS[fieldOf(answer, "status") ?? ""], fieldOf(answer, "result")),
};

const SUBTASK_ENDS: Record<string, TaskStatus> = { Success: "completed", Error: "error", Cancel: "cancelled" };

const subtasks = (onParentCancel: OnParentCancel): ToolsetWords => ({
  toolCall: translate({
    launch: ({ title, prompt, agent, priority }) => ({
      tool: PREFIX + agent,
      args: given({ title, intent: prompt, priority }),
      wait: {
        for: { launched: true },
        atMost: Number.POSITIVE_INFINITY,
        whenAborted: onParentCancel === "cancel" ? "isCancelled" : "goesOn",
      },
    }),
    read: ({ taskId, timeout }) =>
      taskId === undefined || timeout !== undefined ? undefined : { tool: READ_TOOL, args: { taskId } },
  }),
  hasPriorities: true,
  isRefusal: () => false,
  launchedIn: (answer) => fieldOf(answer, "taskId"),
  endsIn: (answer) =>
    endOf(
      fieldOf(answer, "taskId"),
      SUBTASK_ENDS[fieldOf(answer, "subTaskStatus") ?? ""],
      fieldOf(answer, "finalAssistantMessage"),
    ),
});

/** Returns how agents speak to the tools of a toolset. */
export const wordsOfToolset = (toolset: Toolset, onParentCancel: OnParentCancel): ToolsetWords =>
  ({ tasks, elisha, subtasks: subtasks(onParentCancel) })[toolset];
