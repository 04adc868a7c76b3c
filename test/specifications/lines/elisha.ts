import { type Entry, lines, type Planted, planted, seenBy, type Unplanted, unplanted } from "./entry.ts";

/* What elisha-task-domain says: three tools that answer in JSON, and a reminder after a compaction. */

const TOOLSET = "src/tools/elisha/elisha-toolset.ts";
const RESULT = "src/tools/elisha/elisha-toolset.ts";

const of = (requirement: string, texts: Record<string, Planted | Unplanted | readonly Planted[]>) =>
  lines(["elisha-task-domain"], requirement, undefined, texts);

const LAUNCHED = "elisha_task takes title, agent and prompt, and waits for the result by default";
const IN_BACKGROUND = "elisha_task with async returns at once, and the end is delivered by a notice";
const THREE = "there are the three of them, and no others";
const REMINDED = "after session.compacted the agent is reminded of its active tasks, once";
const SYNTHETIC = "the reminder is synthetic, keeps agent and model, and starts no turn";
const TIMED_OUT = "a timeout, in ms, ends the wait with TIMEOUT; the task goes on, and owes its notice";
const FAILED = "a task that failed is `failed`, with its error and SESSION_ERROR";
const CANCELLED = "a cancelled task is `cancelled`";
const RESUMED = "a resumed task is `running`, and then has the new result";
const NOT_FOUND = "AGENT_NOT_FOUND before anything is made, and before a person is asked";

const WANTED = "{ description: title, prompt, agent, schema }";

/** A launch is made with other arguments than those that were given. */
const launchedWith = (wanted: string) => planted(TOOLSET, WANTED, wanted, LAUNCHED);

const otherTask = (tool: string) =>
  `TaskResult Type › SESSION_ERROR from ${tool} for a task that is not there, or another parent's`;

const noId = planted(RESULT, "  task_id: task.sessionID,\n  agent: task.agent,", "  agent: task.agent,");
const noAgent = planted(RESULT, "  agent: task.agent,\n", "");
const noTitle = planted(RESULT, "  title: task.description,\n", "");
const noResult = planted(RESULT, "  ...(task.result === undefined ? {} : { result: task.result }),\n", "");
const notCompleted = planted(RESULT, '  completed: "completed",\n', '  completed: "running",\n');

const here = (mistake: Planted) => seenBy(`Task Tool Parameters › ${LAUNCHED}`, mistake);

const UNKNOWN_AGENT = '  error: `Agent(${agent}) not found or not active.`,\n  code: "AGENT_NOT_FOUND",';

export const ofElisha: readonly Entry[] = [
  ...of("setupTaskHooks", {
    "The task hook injects `<task-context>` guidance after session compaction to remind agents about active tasks.": [
      planted(
        "src/services/engine/reactions.ts",
        'on(["compacted"], ({ sessionID }) => reminders.remind(sessionID, "compacted"));',
        "",
        REMINDED,
      ),
      planted(
        "src/services/text/reminder-text.ts",
        'const BEGIN = "<task-context>";',
        'const BEGIN = "<tasks>";',
        REMINDED,
      ),
      planted("src/services/text/reminder-text.ts", 'section("Active:", live),', '"",', REMINDED),
    ],
  }),
  ...of("Task Tools", {
    "`elisha_task` Create a new task for an agent": planted(
      TOOLSET,
      "[TASK]: taskTool(deps),",
      "elisha_new: taskTool(deps),",
      THREE,
    ),
    "`elisha_task_output` Get output from a running/completed task": planted(
      TOOLSET,
      "[OUTPUT]: outputTool(deps),",
      "elisha_output: outputTool(deps),",
      THREE,
    ),
    "`elisha_task_cancel` Cancel a running task": planted(
      TOOLSET,
      "[CANCEL]: cancelTool(deps),",
      "elisha_cancel: cancelTool(deps),",
      THREE,
    ),
  }),
  ...of("Task Tool Parameters", {
    "elisha_task › title: string": launchedWith("{ description: prompt, prompt, agent, schema }"),
    "elisha_task › agent: string": launchedWith('{ description: title, prompt, agent: "explore", schema }'),
    "elisha_task › prompt: string": launchedWith("{ description: title, prompt: title, agent, schema }"),
    "elisha_task › async: boolean": [
      planted(TOOLSET, "async = false }, context) =>", "async = true }, context) =>", LAUNCHED),
      planted(TOOLSET, "async ? launchedResult(", "!async ? launchedResult(", IN_BACKGROUND),
    ],
    "elisha_task_output › task_id: string": planted(
      TOOLSET,
      "deps.engine.find(context.sessionID, task_id)",
      'deps.engine.find(context.sessionID, "ses_")',
      otherTask("elisha_task_output"),
    ),
    "elisha_task_output › wait: boolean": [
      planted(
        TOOLSET,
        "wait = false, timeout,",
        "wait = true, timeout,",
        "elisha_task_output does not wait by default",
      ),
      planted(
        TOOLSET,
        "wait ? await waitForResult(",
        "!wait ? await waitForResult(",
        "elisha_task_output with wait answers when the task ends, however long that takes",
      ),
    ],
    "elisha_task_output › timeout?: number": [
      planted(
        TOOLSET,
        "waitForResult(deps, taskId, timeout, context)",
        "waitForResult(deps, taskId, timeout && timeout * 1_000, context)",
        TIMED_OUT,
      ),
      planted(
        TOOLSET,
        "if (wait && timeout !== undefined && timeout < 0) {",
        "if (timeout !== undefined && timeout < 0) {",
        "a timeout without wait changes nothing",
      ),
    ],
    "elisha_task_cancel › task_id: string": planted(
      TOOLSET,
      "const found = engine.find(sessionID, task_id);",
      'const found = engine.find(sessionID, "ses_");',
      otherTask("elisha_task_cancel"),
    ),
  }),
  ...of("TaskResult Type", {
    "status: 'running' | 'completed' | 'failed' | 'cancelled'": [
      planted(RESULT, '  resumed: "running",\n', '  resumed: "completed",\n', RESUMED),
      here(notCompleted),
      planted(RESULT, '  error: "failed",\n', '  error: "cancelled",\n', FAILED),
      planted(RESULT, '  cancelled: "cancelled",\n', '  cancelled: "failed",\n', CANCELLED),
    ],
    "task_id?: string": here(noId),
    "agent?: string": here(noAgent),
    "title?: string": here(noTitle),
    "result?: string": here(noResult),
    "error?: string": planted(RESULT, "error: `${error.name}: ${error.message}`,", "error: error.name,", FAILED),
    "code?: 'AGENT_NOT_FOUND' | 'SESSION_ERROR' | 'TIMEOUT'": [
      planted(
        RESULT,
        UNKNOWN_AGENT,
        UNKNOWN_AGENT.replace("AGENT_NOT_FOUND", "SESSION_ERROR"),
        `Validate Agent Exists › ${NOT_FOUND}`,
      ),
      planted(RESULT, '${error.message}`, code: "SESSION_ERROR" };', "${error.message}` };", FAILED),
      planted(
        RESULT,
        '        code: "TIMEOUT",\n',
        '        code: "SESSION_ERROR",\n',
        `Task Tool Parameters › ${TIMED_OUT}`,
      ),
    ],
  }),
  ...of("Mark Synthetic Messages", {
    "role: 'user'": unplanted(
      "OpenCode stores what a plugin sends as messages of the user: there is no role to choose.",
    ),
    "content: injectedContent": planted(
      "src/services/engine/delivery/session-notes.ts",
      "({ text, synthetic: true } as const)",
      '({ text: "" as typeof text, synthetic: true } as const)',
      `setupTaskHooks › ${REMINDED}`,
    ),
    "synthetic: true": planted(
      "src/services/engine/delivery/session-notes.ts",
      "({ text, synthetic: true } as const)",
      "({ text, ignored: true } as const)",
      SYNTHETIC,
    ),
  }),
  ...of("Return JSON Strings from Tools", {
    "status: 'completed'": here(notCompleted),
    "task_id: session.id": here(noId),
    "agent: args.agent": here(noAgent),
    "title: args.title": here(noTitle),
    "result: outputText": here(noResult),
  }),
  ...of("Validate Agent Exists", {
    "status: 'failed'": planted(
      RESULT,
      `  status: "failed",\n${UNKNOWN_AGENT}`,
      `  status: "cancelled",\n${UNKNOWN_AGENT}`,
      NOT_FOUND,
    ),
    "error: `Agent(${args.agent}) not found or not active.`": planted(
      RESULT,
      UNKNOWN_AGENT,
      UNKNOWN_AGENT.replace("Agent(${agent}) not found or not active.", "There is no agent ${agent}."),
      NOT_FOUND,
    ),
    "code: 'AGENT_NOT_FOUND'": planted(
      RESULT,
      UNKNOWN_AGENT,
      UNKNOWN_AGENT.replace("AGENT_NOT_FOUND", "SESSION_ERROR"),
      NOT_FOUND,
    ),
  }),
];
