import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import { nameOf, type OwnText, own, quoteLine } from "../../services/text/own-text.ts";
import type { Task } from "../../task.ts";
import { defineTool, orThrow, type ToolDeps } from "../define-tool.ts";
import { launchForCaller, requirePermission } from "../launch-for-caller.ts";

const { string, boolean } = tool.schema;

const nextStep = ({ prefix, isHeadless }: ToolDeps): OwnText =>
  isHeadless
    ? own`This run of OpenCode ends with your answer, and the task with it: collect its result with ${nameOf(prefix)}_output and block: true before you answer.`
    : own`You will be told when it ends. Continue with other work, or end your turn and wait.`;

/** Creates `<prefix>_task`: launches or resumes a task. It returns as soon as the session exists, without waiting for a result. */
export const taskTool = (deps: ToolDeps): ToolDefinition =>
  defineTool({
    description:
      "Run a subagent in the background. Returns a task id at once; a notice with the result comes when the task ends. Keep working meanwhile: do not poll. Call several times in one message for parallel tasks. To follow up on a completed task, give resume and prompt only.",
    args: {
      description: string().optional().describe("3-5 words; required for a new task"),
      prompt: string().describe("All the agent needs to know"),
      agent: string().trim().optional().describe("Agent name, e.g. general; required for a new task"),
      batch_id: string().trim().optional().describe("Join this batch; default: tasks of one message form one"),
      resume: string().trim().optional().describe("Id of a completed task to continue"),
      fork: boolean().optional().describe("Let the agent see this conversation"),
    },
    ignoresUnknown: true,
    execute: async ({ description, prompt, agent, batch_id, resume: taskId, fork = false }, context) => {
      if (taskId !== undefined && fork) {
        throw new Error(
          "fork and resume are mutually exclusive: a resumed task continues its own conversation. Give only one of them.",
        );
      }
      if (taskId !== undefined) {
        const caller = { parentSessionID: context.sessionID, signal: context.abort };
        const mayUse = (task: Task) => requirePermission(context, task.agent, task.description);
        const task = orThrow(await deps.engine.resume({ ...caller, taskId, prompt, agent, permit: mayUse }));
        return {
          title: task.description,
          output: own`Task ${nameOf(task.sessionID)} was resumed in the background: ${quoteLine(task.description)} (agent ${nameOf(task.agent)}, resume #${task.resumeCount}).\n${nextStep(deps)}`,
          metadata: { sessionId: task.sessionID },
        };
      }
      const wanted = { description: description ?? "", prompt, agent: agent ?? "", batchId: batch_id, fork };
      const launched = await launchForCaller(context, deps.engine, wanted);
      if (!launched) throw new Error("The turn was aborted; nothing was launched.");
      const { task, forkRefusal } = orThrow(launched);
      const asText =
        forkRefusal === undefined
          ? own``
          : own`\nOpenCode could not fork this conversation (${quoteLine(forkRefusal)}); the agent was given it as text.`;
      return {
        title: task.description,
        output: own`Task ${nameOf(task.sessionID)} is running in the background: ${quoteLine(task.description)} (agent ${nameOf(task.agent)}, batch ${nameOf(task.batchId)}${fork ? ", forked" : ""}).${asText}\n${nextStep(deps)}`,
        metadata: { sessionId: task.sessionID },
      };
    },
  });
