import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import { own, quoteLine } from "../../services/own-text.ts";
import { hasEnded } from "../../task.ts";
import { given, type ToolParts } from "../context.ts";
import { tasksOf } from "./selection.ts";
import { labelOf } from "./words.ts";

const { string } = tool.schema;

/** Removes tasks for good. */
export const clearTool = ({ engine }: ToolParts): ToolDefinition =>
  tool({
    description: "Remove background tasks, all of this session's if no argument is given. Running ones are cancelled.",
    args: { task_id: string().optional(), batch_id: string().optional() },
    execute: async ({ task_id, batch_id }, { sessionID }) => {
      if (given(task_id) && given(batch_id)) {
        throw new Error("Give task_id or batch_id, not both; neither removes all of this session's tasks.");
      }
      if ([task_id, batch_id].some((argument) => argument !== undefined && given(argument) === undefined)) {
        throw new Error(
          "task_id and batch_id must not be empty: leave both out to remove all of this session's tasks.",
        );
      }
      const tasks = tasksOf(engine, sessionID, given(task_id), given(batch_id));
      if (tasks.length === 0) return "No background tasks found";
      const removed = await engine.clear(tasks.map((task) => task.sessionID));
      return removed
        .map(
          (task) =>
            own`Removed ${labelOf(task)} ${quoteLine(task.description)} (${hasEnded(task) ? task.status : "cancelled"}).`,
        )
        .join("\n");
    },
  });
