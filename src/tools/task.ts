import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import { given, orThrow, type ToolParts } from "./context.ts";

const { string } = tool.schema;

/** Launches a task. Returns once its session is made; never waits for its answer. */
export const taskTool = ({ engine }: ToolParts): ToolDefinition =>
  tool({
    description:
      "Run a subagent in the background. Returns a task id at once; a notice with the result comes when the task ends. Keep working meanwhile: do not poll. Call several times in one message for parallel tasks.",
    args: {
      description: string().describe("3-5 words"),
      prompt: string().describe("All the agent needs to know"),
      agent: string().describe("Agent name, e.g. general"),
      batch_id: string().optional().describe("Join this batch; default: tasks of one message form one"),
    },
    execute: async ({ description, prompt, agent, batch_id }, context) => {
      const task = orThrow(
        await engine.launch({
          description,
          prompt,
          agent,
          batchId: given(batch_id),
          parentSessionID: context.sessionID,
          parentMessageID: context.messageID,
          parentAgent: context.agent,
          directory: context.directory,
          signal: context.abort,
        }),
      );
      return {
        title: task.description,
        output: [
          `Task ${task.sessionID} is running in the background: "${task.description}" (agent ${task.agent}, batch ${task.batchId}).`,
          "You will be told when it ends. Continue with other work, or end your turn and wait.",
        ].join("\n"),
        metadata: { sessionId: task.sessionID },
      };
    },
  });
