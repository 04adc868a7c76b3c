import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import { own, quoteLine } from "../../services/text/own-text.ts";
import { hasEnded } from "../../task.ts";
import { defineTool, type ToolDeps } from "../define-tool.ts";
import { formatTaskId } from "./format.ts";
import { selectTasks } from "./select.ts";

/** Refuses an id that is null or empty: a call that means one task must not remove all. */
const NOT_EMPTY = "not be empty: leave both out to remove all of this session's tasks";

const id = () =>
  tool.schema
    .string()
    .trim()
    .refine((text) => text !== "", NOT_EMPTY);

/** Creates `<prefix>_clear`: removes tasks permanently, and cancels the running ones. */
export const clearTool = ({ engine }: ToolDeps): ToolDefinition =>
  defineTool({
    description: "Remove background tasks, all of this session's if no argument is given. Running ones are cancelled.",
    args: { task_id: id().optional(), batch_id: id().optional() },
    refusesBlank: true,
    execute: async ({ task_id, batch_id }, { sessionID }) => {
      if (task_id !== undefined && batch_id !== undefined) {
        throw new Error("Give task_id or batch_id, not both; neither removes all of this session's tasks.");
      }
      const tasks = selectTasks(engine, sessionID, task_id, batch_id);
      if (tasks.length === 0) return "No background tasks found";
      const removed = await engine.clear(tasks.map((task) => task.sessionID));
      return removed
        .map(
          (task) =>
            own`Removed ${formatTaskId(task)} ${quoteLine(task.description)} (${hasEnded(task) ? task.status : "cancelled"}).`,
        )
        .join("\n");
    },
  });
