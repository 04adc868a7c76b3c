import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import type { Outcome } from "../services/outcome.ts";
import type { Task } from "../task.ts";
import { given, orThrow, type ToolParts } from "./context.ts";

const { string } = tool.schema;

/** Launches a task, or resumes one. Returns once its session is there; never waits for its answer. */
export const taskTool = ({ engine }: ToolParts): ToolDefinition =>
  tool({
    description:
      "Run a subagent in the background. Returns a task id at once; a notice with the result comes when the task ends. Keep working meanwhile: do not poll. Call several times in one message for parallel tasks. To follow up on a completed task, give resume and prompt only.",
    args: {
      description: string().optional().describe("3-5 words; required for a new task"),
      prompt: string().describe("All the agent needs to know"),
      agent: string().optional().describe("Agent name, e.g. general; required for a new task"),
      batch_id: string().optional().describe("Join this batch; default: tasks of one message form one"),
      resume: string().optional().describe("Id of a completed task to continue"),
    },
    execute: async ({ description, prompt, agent, batch_id, resume }, context) => {
      const caller = { parentSessionID: context.sessionID, signal: context.abort };
      const taskId = given(resume);
      const launch = (): Promise<Outcome<Task>> =>
        engine.launch({
          ...caller,
          description: description ?? "",
          prompt,
          agent: agent ?? "",
          batchId: given(batch_id),
          parentMessageID: context.messageID,
          parentAgent: context.agent,
          directory: context.directory,
        });
      const task = orThrow(
        taskId === undefined ? await launch() : await engine.resume({ ...caller, taskId, prompt, agent: given(agent) }),
      );
      const said =
        taskId === undefined
          ? `Task ${task.sessionID} is running in the background: "${task.description}" (agent ${task.agent}, batch ${task.batchId}).`
          : `Task ${task.sessionID} is resumed in the background: "${task.description}" (agent ${task.agent}, resume #${task.resumeCount}).`;
      return {
        title: task.description,
        output: `${said}\nYou will be told when it ends. Continue with other work, or end your turn and wait.`,
        metadata: { sessionId: task.sessionID },
      };
    },
  });
