import type { ApiTask } from "../src/services/http/contract/api-task.ts";
import { missedInShort } from "../src/services/text/instruction-text.ts";
import { incompleteInShort } from "../src/services/text/result-text.ts";
import { missedIn } from "../src/task.ts";

/** What the list shows of a task: nothing of its prompt and result but a line, as there may be many thousands. */
export type ListedTask = Pick<
  ApiTask,
  | "sessionID"
  | "parentSessionID"
  | "parentTaskId"
  | "parentAgent"
  | "batchId"
  | "status"
  | "state"
  | "agent"
  | "description"
  | "directory"
  | "startedAt"
  | "runStartedAt"
  | "completedAt"
  | "attention"
  | "why"
  | "waiting"
  | "server"
  | "usage"
> & { lastTool?: string | undefined; outcome?: string | undefined };

/** Characters of an outcome that are kept. */
const OUTCOME_CHARS = 200;

/** Why a task failed, or its summary, after what its result lacks, and how many instructions it missed. */
const outcomeOf = (task: ApiTask): string | undefined => {
  const missed = missedInShort(missedIn(task).length);
  const incomplete = task.status === "completed" ? incompleteInShort(task) : undefined;
  const outcome = task.error ? [task.error.message] : [incomplete, task.summary];
  return [missed, ...outcome].filter(Boolean).join(": ") || undefined;
};

/** Returns what the list shows of a task. */
export const toListed = (task: ApiTask): ListedTask => ({
  sessionID: task.sessionID,
  parentSessionID: task.parentSessionID,
  parentTaskId: task.parentTaskId,
  parentAgent: task.parentAgent,
  batchId: task.batchId,
  status: task.status,
  state: task.state,
  agent: task.agent,
  description: task.description,
  directory: task.directory,
  startedAt: task.startedAt,
  runStartedAt: task.runStartedAt,
  completedAt: task.completedAt,
  attention: task.attention,
  why: task.why,
  waiting: task.waiting,
  server: task.server,
  usage: task.usage,
  lastTool: task.progress.lastTools.at(-1),
  outcome: outcomeOf(task)?.slice(0, OUTCOME_CHARS),
});
