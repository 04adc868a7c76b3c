import type { ApiTask } from "../../../src/client/api-types.ts";
import type { OpenUserRequest } from "../../../src/user-request.ts";

/** When all of these tests take place. */
export const NOW = Date.parse("2026-01-31T12:00:00Z");

/** A time before that, by seconds. */
export const ago = (seconds: number): string => new Date(NOW - seconds * 1_000).toISOString();

/** A task at work since a minute; what is given differs. `tokens` and `cost` are of its own runs and, if not given, of all. */
export const panelTask = (
  sessionID: string,
  {
    tokens = 0,
    cost = 0,
    lastTools = [],
    ...given
  }: Partial<ApiTask> & { tokens?: number; cost?: number; lastTools?: string[] } = {},
): ApiTask => {
  const startedAt = given.startedAt ?? ago(60);
  return {
    sessionID,
    parentSessionID: "ses_root",
    parentMessageID: "msg_1",
    parentAgent: "build",
    author: "build",
    directory: "/project",
    description: `about ${sessionID}`,
    prompt: "do it",
    agent: "general",
    startedAt,
    batchId: "batch",
    isForked: false,
    priority: 0,
    status: "running",
    state: "running.active.working.busy",
    states: ["running.active.working.busy"],
    childTaskIds: [],
    runStartedAt: startedAt,
    resumeCount: 0,
    waiting: { for: "agent", since: startedAt },
    progress: { toolCalls: lastTools.length, toolCallsByName: {}, lastTools, lastUpdate: startedAt, tokens, cost },
    usage: { tokens, cost },
    allowed: [],
    ...given,
  };
};

/** The same task, ended `secondsAgo`. */
export const ended = (task: ApiTask, status: "completed" | "error" | "cancelled", secondsAgo = 10): ApiTask => {
  const { waiting: _, ...rest } = task;
  return { ...rest, status, state: status, states: [status], completedAt: ago(secondsAgo) };
};

/** What a task of its own, or one below it, asks a person. */
export const asking = (task: ApiTask, request: Partial<OpenUserRequest> = {}): ApiTask => {
  const asked: OpenUserRequest = {
    id: "per_1",
    kind: "permission",
    what: "bash: git push",
    since: ago(5),
    always: ["git *"],
    ...request,
  };
  const { kind, what, since } = asked;
  return { ...task, waiting: { for: "person", since }, attention: { kind, what, since, requests: [asked] } };
};
