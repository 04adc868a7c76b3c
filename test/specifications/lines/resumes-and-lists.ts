import { TASKS, WITH_LIMITS } from "../../../scripts/requirements/specifications.ts";
import { type Entry, lines, planted, seenBy } from "./entry.ts";
import { unmarked } from "./forks.ts";
import { cutNotice } from "./notices.ts";

/* What the specifications say of resumed tasks, and of lists of tasks. */

const RESUME = "src/services/engine/operations/go-on.ts";
const LIFECYCLE = "src/machines/task/machine.ts";
const TOOLS = "src/tools/tasks/tasks-toolset.ts";
const READ = "src/tools/tasks/tasks-toolset.ts";
const FORMAT = "src/tools/tasks/format.ts";

const neverCompletes = planted(
  LIFECYCLE,
  'meta: { refuses: { RESUME: "is currently being resumed", RETRY: "still runs: use steer" } },\n      entry: beginRun,\n      on: onRunEnded,',
  'meta: { refuses: { RESUME: "is currently being resumed", RETRY: "still runs: use steer" } },\n      entry: beginRun,\n      on: { RUN_ENDED: { target: "cancelled" } },',
);

const resumption: Entry[] = [
  ...lines(TASKS, "Task Conversation Resumption", undefined, {
    "The system SHALL support resuming conversations with completed background tasks via the `{prefix}_task(resume: taskId, prompt: message)` interface.":
      planted(
        TOOLS,
        'resume: tool.schema.string().trim().optional().describe("Id of a completed task to continue"),',
        'resumed: tool.schema.string().trim().optional().describe("Id of a completed task to continue"),',
        "Resume completed task with follow-up prompt",
      ),
  }),
  ...lines(TASKS, "Task Conversation Resumption", "Resume completed task with follow-up prompt", {
    "system validates session exists": planted(
      RESUME,
      "const session = await host.session(sessionID);",
      "const session = { ok: true, value: { isReverted: false } } as never as Awaited<ReturnType<Host['session']>>;",
    ),
    "sends the prompt to the task's existing session": planted(
      "src/machines/task/setup.ts",
      "  return { sessionID, messageID, parts: [{ id: partID, text: prompt }], agent, model: modelOf(context) };",
      "  return { sessionID: context.run.index > 0 ? context.facts.parentSessionID : sessionID, messageID, parts: [{ id: partID, text: prompt }], agent, model: modelOf(context) };",
    ),
    "returns immediately with confirmation (non-blocking)": [
      planted(
        TOOLS,
        "const task = orThrow(await deps.engine[way](request));",
        "const task = orThrow(await deps.engine[way](request)); await deps.engine.wait({ taskIds: [task.sessionID], sessionID: context.sessionID, callID: undefined, signal: context.abort, timeoutMs: undefined });",
      ),
      planted(
        TOOLS,
        "output: own`Task ${nameOf(task.sessionID)} was ${done} in the background",
        "output: own`It was ${done} in the background",
      ),
    ],
    "subagent receives the message with full conversation history": planted(
      RESUME,
      'if (request.signal.aborted) return fail("The turn was aborted; nothing was sent.");',
      "const past = await host.conversation(sessionID); if (past.ok && past.value[0]) await host.deleteMessage(sessionID, past.value[0].id);",
    ),
  }),
  ...lines(WITH_LIMITS, "Task Conversation Resumption", "Resume completion notification", {
    "system sends notification to parent session with full response": cutNotice,
    'task status returns to "completed"': neverCompletes,
  }),
  ...lines(TASKS, "Task Conversation Resumption", "Wait for resume response", {
    "user calls `{prefix}_output` with task_id and block=true": planted(
      READ,
      "const outcome = block ?",
      "const outcome = block && batchId !== undefined ?",
    ),
    "system waits until response is received": planted(
      READ,
      "engine.wait({ taskIds, sessionID, callID, signal: abort, timeoutMs })",
      "engine.wait({ taskIds, sessionID, callID, signal: abort, timeoutMs: 10_000 })",
    ),
  }),
  ...lines(WITH_LIMITS, "Task Conversation Resumption", "Reject resume of non-completed task", {
    "system returns error indicating only completed tasks can be resumed": [
      planted(LIFECYCLE, "only completed tasks can be resumed (this one is running)", "it is running"),
      planted(LIFECYCLE, "only completed tasks can be resumed (this one is error)", "it has failed"),
      planted(LIFECYCLE, "only completed tasks can be resumed (this one is cancelled)", "it was cancelled"),
    ],
  }),
  ...lines(WITH_LIMITS, "Task Conversation Resumption", "Reject concurrent resume", {
    "system returns error indicating task is currently being resumed": planted(
      LIFECYCLE,
      'RESUME: "is currently being resumed"',
      'RESUME: "cannot be resumed now"',
    ),
  }),
  ...lines(TASKS, "Task Conversation Resumption", "Handle expired session on resume", {
    "system returns error with suggestion to start a new {prefix}_task": planted(
      RESUME,
      "does not exist any more. Start a new task with ${options.notice.tools.launch}.",
      "does not exist any more.",
    ),
  }),
];

const counts: Entry[] = [
  ...lines(TASKS, "Resume Count Tracking", undefined, {
    "The system SHALL track the number of times each task has been resumed for visibility and debugging purposes.":
      planted(
        "src/machines/task/view.ts",
        "resumeCount: context.run.index,",
        "resumeCount: Math.min(context.run.index, 1),",
        "Increment resume count",
      ),
  }),
  ...lines(TASKS, "Resume Count Tracking", "Increment resume count", {
    "the task's resumeCount field is incremented by one": planted(
      "src/machines/task/next-run.ts",
      "index: context.run.index + 1,",
      "index: context.run.index + 2,",
    ),
  }),
  ...lines(TASKS, "Resume Count Tracking", "Initial resume count", {
    "the task's resumeCount is initialized to zero": planted(
      "src/services/engine/launch/start-task.ts",
      "run: { index: 0, messageID,",
      "run: { index: 1, messageID,",
    ),
  }),
];

const resumedMark = planted(FORMAT, "resumeCount > 0 ? own`(resumed)`", "resumeCount > 1 ? own`(resumed)`");

const listing: Entry[] = [
  ...lines(TASKS, "Task List Resume Indicator", undefined, {
    "The system SHALL indicate in task listings when a task has been resumed or forked, providing visual distinction for tasks with special context handling.":
      [seenBy("Show resumed indicator", resumedMark), seenBy("Show forked indicator", unmarked)],
  }),
  ...lines(TASKS, "Task List Resume Indicator", "Show resumed indicator", {
    'system appends "(resumed)" after the task ID in the listing': resumedMark,
  }),
  ...lines(TASKS, "Task List Resume Indicator", "Show forked indicator", {
    'system appends "(forked)" after the task ID in the listing': unmarked,
  }),
  ...lines(TASKS, "Task List Resume Indicator", "No indicator for new tasks", {
    "system shows task ID without any indicator": [
      planted(FORMAT, "resumeCount > 0 ? own`(resumed)`", "resumeCount >= 0 ? own`(resumed)`"),
      planted(FORMAT, "isForked ? own`(forked)` : undefined", "own`(forked)`"),
    ],
  }),
  ...lines(TASKS, "Task List Parent Session Filtering", undefined, {
    "The system SHALL filter task listings to only show tasks that are direct children of the current session, preventing clutter from unrelated tasks.":
      planted(
        READ,
        "const tasks = engine.list({ parentSessionID: sessionID });",
        "const own = engine.list({ parentSessionID: sessionID }); const tasks = [...own, ...own.flatMap((task) => engine.list({ parentSessionID: task.sessionID }))];",
        "Filter by parent session",
      ),
  }),
  ...lines(TASKS, "Task List Parent Session Filtering", "Filter by parent session", {
    "system only returns tasks where parentSessionID matches current session ID": planted(
      READ,
      "shown: (task) => status === undefined || task.status === status,",
      "shown: () => false,",
    ),
    "tasks from other sessions are not displayed": planted(
      READ,
      "const tasks = engine.list({ parentSessionID: sessionID });",
      "const tasks = engine.list({});",
    ),
  }),
  ...lines(TASKS, "Task List Parent Session Filtering", "Empty list for no children", {
    'system returns "No background tasks found" message': planted(
      READ,
      'undefined ? "No background tasks found" :',
      'undefined ? "No tasks" :',
    ),
  }),
];

export const ofResumesAndLists: readonly Entry[] = [...resumption, ...counts, ...listing];
