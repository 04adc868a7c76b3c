import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import { own, quoteLine, vouchFor } from "../../services/text/own-text.ts";
import { hasEnded, type Task } from "../../task.ts";
import { defineTool, type ToolDeps } from "../define-tool.ts";
import { formatTaskId } from "./format.ts";
import { selectTasks } from "./select.ts";

const { string, boolean } = tool.schema;

/** Creates `<prefix>_cancel`: cancels tasks and their child tasks. */
export const cancelTool = ({ engine }: ToolDeps): ToolDefinition =>
  defineTool({
    description: "Cancel running background tasks. Give exactly one argument.",
    args: { task_id: string().trim().optional(), batch_id: string().trim().optional(), all: boolean().optional() },
    execute: async ({ task_id, batch_id, all }, { sessionID }) => {
      const choices = [task_id, batch_id, all || undefined].filter((choice) => choice !== undefined);
      if (choices.length !== 1) {
        throw new Error(
          `Give exactly one of task_id, batch_id and all: ${choices.length === 0 ? "none" : choices.length} given.`,
        );
      }
      const chosen = selectTasks(engine, sessionID, task_id, batch_id);
      const tasks: Task[] = task_id ? chosen : chosen.filter((task) => !hasEnded(task));
      if (tasks.length === 0) return "No running tasks to cancel.";
      const results = await engine.cancel(tasks.map((task) => task.sessionID));
      const output = results
        .map(({ task, refused }) => {
          const outcome = refused === undefined ? own`is ${task.status}` : vouchFor(refused);
          return own`Task ${formatTaskId(task)} ${quoteLine(task.description)} ${outcome}.`;
        })
        .join("\n");
      const [only] = results;
      return only && results.length === 1 ? { output, metadata: { sessionId: only.task.sessionID } } : output;
    },
  });
