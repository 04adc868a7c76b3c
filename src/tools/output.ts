import { type ToolDefinition, tool } from "@opencode-ai/plugin";
import { duration } from "../services/notices.ts";
import { hasEnded } from "../task.ts";
import { type CallContext, orThrow, type ToolParts } from "./context.ts";
import { reportOf } from "./words.ts";

const { string, boolean, number } = tool.schema;

/** Milliseconds. The defaults are applied here: the host passes the arguments on as they come. */
const DEFAULT_TIMEOUT = 60_000;
const LONGEST_TIMEOUT = 600_000;

const readTimeout = (timeout = DEFAULT_TIMEOUT): number => {
  if (timeout >= 0 && timeout <= LONGEST_TIMEOUT) return timeout;
  throw new Error(`timeout is ${timeout}, but must be between 0 and ${LONGEST_TIMEOUT} milliseconds.`);
};

/** Shows how a task stands and what it answered; waits for its end on request. */
export const outputTool = ({ engine, clock }: ToolParts): ToolDefinition =>
  tool({
    description: "Status, progress and result of a background task. Does not wait unless block is true.",
    args: {
      task_id: string(),
      block: boolean().optional().describe("Wait for the end (default false)"),
      timeout: number().optional().describe("ms to wait; default 60000, max 600000"),
    },
    execute: async ({ task_id, block = false, timeout }, context: CallContext) => {
      const timeoutMs = readTimeout(timeout);
      const { sessionID } = orThrow(engine.find(context.sessionID, task_id.trim()));
      const outcome = block
        ? await engine.wait({
            taskIds: [sessionID],
            sessionID: context.sessionID,
            callID: context.callID,
            signal: context.abort,
            timeoutMs,
          })
        : undefined;
      const ended = engine.get(sessionID);
      if (ended && hasEnded(ended)) engine.markRetrieved(sessionID);
      const task = orThrow(engine.find(context.sessionID, sessionID));
      const waited = outcome === "timedOut" ? `\nStill ${task.status} after a wait of ${duration(timeoutMs)}.` : "";
      return {
        title: task.description,
        output: `${reportOf(task, clock.now())}${waited}`,
        metadata: { sessionId: sessionID },
      };
    },
  });
