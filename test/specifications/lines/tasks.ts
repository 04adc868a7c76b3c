import { TASKS } from "../../../scripts/requirements/specifications.ts";
import { type Entry, lines, planted, seenBy } from "./entry.ts";
import { longConversations, longResults, noFork, noReason, unmarkedFork, waitsForEnd } from "./forks.ts";
import { cutNotice } from "./notices.ts";

/*
 * What the three specifications of one tool contract say of a task from its launch to its end. Each line is violated by the
 * mistake beside it: in that file, the first text is replaced by the second.
 */

const LAUNCH = "src/services/engine/launch/start-task.ts";
const LIFECYCLE = "src/machines/task/machine.ts";
const VIEW = "src/machines/task/view.ts";
const TOOLS = "src/tools/tasks/tasks-toolset.ts";
const READ = "src/tools/tasks/tasks-toolset.ts";
const FORMAT = "src/tools/tasks/format.ts";
const PROGRESS = "src/services/runtime/progress.ts";

const launchesBoth = planted(
  TOOLS,
  "if (resume !== undefined && fork) {",
  'if (resume !== undefined && fork) { await launchForCaller(context, deps, { description: "both", prompt, agent: "general", batchId: undefined, wake, model, fork: false, worktree });',
);

const creation: Entry[] = [
  ...lines(TASKS, "Background Task Creation", undefined, {
    "The system SHALL support launching background tasks that execute asynchronously without blocking the main conversation flow.":
      seenBy("Launch background task", waitsForEnd),
  }),
  ...lines(TASKS, "Background Task Creation", "Launch background task", {
    'system creates a new task with unique ID and sets status to "running"': planted(
      LIFECYCLE,
      'initial: "running",',
      'initial: "resumed",',
    ),
    "task includes parent session and message context for traceability": [
      planted(LAUNCH, "        parentMessageID,\n", '        parentMessageID: "",\n'),
      planted(LAUNCH, "        parentSessionID,\n", "        parentSessionID: sessionID,\n"),
    ],
  }),
  ...lines(TASKS, "Background Task Creation", "Launch forked background task", {
    "system forks parent session using session.fork API": noFork,
    "processes context (truncation, token limits)": [longResults, longConversations],
    "creates task with `isForked: true`": unmarkedFork,
  }),
  ...lines(TASKS, "Background Task Creation", "Validate mutually exclusive modes", {
    "system returns error explaining these modes are mutually exclusive": noReason,
    "no task is created": launchesBoth,
  }),
];

const status: Entry[] = [
  ...lines(TASKS, "Task Status Management", undefined, {
    "The system SHALL maintain task status throughout the task lifecycle with five possible states: running, completed, error, cancelled, resumed.":
      planted(
        "src/machines/task/machine.ts",
        "({ value: { lifecycle } }: StoredSnapshot): TaskStatus => lifecycle;",
        '({ value: { lifecycle } }: StoredSnapshot): TaskStatus => lifecycle === "resumed" ? "running" : lifecycle;',
        "Track resumed status",
      ),
  }),
  ...lines(TASKS, "Task Status Management", "Track task completion", {
    'status changes to "completed" and completion timestamp is recorded': [
      planted(LIFECYCLE, '{ guard: "isCompleted", target: "completed" }', '{ guard: "isCompleted", target: "error" }'),
      planted(VIEW, "undefined : iso(completedAt)", "undefined : iso(context.run.startedAt)"),
    ],
    "task result is stored for later retrieval": planted(
      "src/machines/task/setup.ts",
      "  result,\n  incomplete,\n  earlierText,\n  resultRetrievedAt: undefined,",
      "  result: result?.slice(0, 10),\n  incomplete,\n  earlierText,\n  resultRetrievedAt: undefined,",
    ),
  }),
  ...lines(TASKS, "Task Status Management", "Handle task errors", {
    'status changes to "error" and error details are captured': [
      planted(LIFECYCLE, '{ guard: "isFailed", target: "error" }', '{ guard: "isFailed", target: "cancelled" }'),
      planted(VIEW, "      error,\n      failureReason", "      failureReason"),
    ],
    "error information is preserved for debugging": planted(
      FORMAT,
      "task.error && own`Error: ${quoteError(task.error)}`,",
      '"",',
    ),
  }),
  ...lines(TASKS, "Task Status Management", "Cancel running tasks", {
    'task status changes to "cancelled"': planted(LIFECYCLE, '{ target: "cancelled" },', '{ target: "error" },'),
    "any ongoing execution is terminated gracefully": planted(
      "src/services/engine/operations/cancel.ts",
      "const { sessions, results } = await abortAll(host, taskId);",
      'if (taskId) return { type: "STOPPED", at: clock.now() }; const { sessions, results } = await abortAll(host, taskId);',
    ),
  }),
  ...lines(TASKS, "Task Status Management", "Track resumed status", {
    'status changes to "resumed" while processing the follow-up prompt': planted(
      "src/machines/task/next-run.ts",
      'target: "resumed",',
      'target: "running",',
    ),
    'status returns to "completed" when subagent response is received': planted(
      LIFECYCLE,
      'meta: { refuses: { RESUME: "is currently being resumed", RETRY: "still runs: use steer" } },\n      entry: beginRun,\n      on: onRunEnded,',
      'meta: { refuses: { RESUME: "is currently being resumed", RETRY: "still runs: use steer" } },\n      entry: beginRun,\n      on: { RUN_ENDED: { target: "cancelled" } },',
    ),
  }),
];

const forgetsSoon = planted(
  "src/services/engine/recovery/housekeeping.ts",
  "store.sweep(retention(), clock.now()) > 0",
  "store.sweep({ days: 1 / 24 }, clock.now()) > 0",
);

const retrieval: Entry[] = [
  ...lines(TASKS, "Task Result Retrieval", undefined, {
    "The system SHALL allow retrieval of task results after completion, with tasks persisting until explicitly cleared or parent session ends.":
      seenBy("Task persistence", forgetsSoon),
  }),
  ...lines(TASKS, "Task Result Retrieval", "Retrieve completed task results", {
    "system returns the stored result data immediately (non-blocking)": [
      planted(FORMAT, 'task.result === undefined ? "" : fenceResult(task.result, task.sessionID),', '"",'),
      planted(
        READ,
        "const outcome = block ?",
        "await new Promise<void>((resolve) => void clock.after(1_000, resolve)); const outcome = block ?",
      ),
    ],
    "marks result as retrieved with timestamp": planted(
      LIFECYCLE,
      "resultRetrievedAt: ({ event }) => event.at",
      "resultRetrievedAt: ({ context }) => context.completedAt",
    ),
  }),
  ...lines(TASKS, "Task Result Retrieval", "Check running task status", {
    "system returns current status including progress information (non-blocking)": [
      planted(FORMAT, 'ended ? "" : formatProgress(task, now),', '"",'),
      planted(READ, "block = false,", "block = true,"),
    ],
  }),
  ...lines(TASKS, "Task Result Retrieval", "Task persistence", {
    "task persists in memory until explicitly cleared via {prefix}_clear": [
      planted(
        "src/services/engine/operations/cancel.ts",
        "store.remove(taskIds.filter((taskId) => !keptIds.has(taskId)));",
        "",
      ),
      forgetsSoon,
    ],
    "until the parent session ends or is deleted": planted(
      "src/services/engine/reactions.ts",
      'if (tasks.length > 0) await clear(ctx, tasks, "person");',
      "",
    ),
  }),
];

const progress: Entry[] = [
  ...lines(TASKS, "Task Progress Tracking", undefined, {
    "The system SHALL provide progress information for running tasks including tool call counts and recent activity.":
      planted(PROGRESS, "tally.toolCalls += 1;", "", "Monitor task progress"),
  }),
  ...lines(TASKS, "Task Progress Tracking", "Monitor task progress", {
    "system returns current progress including tool call count and recent tools used": [
      planted(PROGRESS, ".slice(-LAST_TOOLS)", ".slice(0, 0)"),
      planted(FORMAT, "own`Tool calls: ${toolCalls} (", "own`Tool calls: ("),
    ],
    "last update timestamp indicates task is still active": planted(
      PROGRESS,
      "      tally.lastUpdateMs = at;\n      tally.run",
      "      tally.run",
    ),
  }),
];

const batches: Entry[] = [
  ...lines(TASKS, "Batch Task Management", undefined, {
    "The system SHALL support grouping related tasks with batch identifiers for organizational purposes.": planted(
      "src/services/engine/launch/launch-plan.ts",
      "request.batchId ?? ctx.turns.batchOf(",
      "ctx.turns.batchOf(",
      "Group related tasks",
    ),
  }),
  ...lines(TASKS, "Batch Task Management", "Group related tasks", {
    "they share the same batchId for correlation": planted(
      "src/services/runtime/observed-runs.ts",
      'return turn.replace("msg_", "batch_");',
      'return turn.replace("msg_", `batch_${Math.random()}`);',
    ),
    "batch operations can be performed on all tasks in a batch": [
      planted(
        TOOLS,
        "engine.cancel(tasks.map((task) => task.sessionID))",
        "engine.cancel(tasks.slice(0, 1).map((task) => task.sessionID))",
      ),
      planted(
        TOOLS,
        "engine.clear(tasks.map((task) => task.sessionID))",
        "engine.clear(tasks.slice(0, 1).map((task) => task.sessionID))",
      ),
      planted(READ, "formatBatch(batchId, tasks, clock.now())", "formatBatch(batchId, tasks.slice(0, 1), clock.now())"),
    ],
  }),
];

const detection: Entry[] = [
  ...lines(TASKS, "Event-Based Completion Detection", undefined, {
    "The system SHALL use `session.idle` events as the primary mechanism for detecting task completion, with polling as a fallback.":
      [
        planted(
          "src/services/engine/reactions.ts",
          '"answering", "idle", "error", "deleted", "session", "message"] as const',
          '"answering", "error", "deleted", "session", "message"] as const',
          "Detect completion via event",
        ),
        planted(
          "src/services/engine/recovery/housekeeping.ts",
          "work: pollIdleSessions,",
          "work: () => undefined,",
          "Fallback to polling",
        ),
      ],
  }),
  ...lines(TASKS, "Event-Based Completion Detection", "Detect completion via event", {
    "system immediately marks corresponding task as completed": planted(
      "src/machines/task/working.ts",
      'HOST_IDLE: { target: "#verifying" },',
      'HOST_IDLE: { actions: { type: "setDeadline", params: 1_000 } },',
    ),
    "sends notification to parent session with full result": [
      cutNotice,
      planted(
        "src/services/engine/delivery/notices.ts",
        "mayCut ? (most ?? longest) : longest",
        "mayCut ? (most ?? 10_000) : longest",
        "Detect completion via event: with the whole result, though it is long",
      ),
    ],
  }),
  ...lines(TASKS, "Event-Based Completion Detection", "Fallback to polling", {
    "polling mechanism detects completion within fallback interval": planted(
      "src/services/engine/recovery/housekeeping.ts",
      "const IDLE_POLL_INTERVAL_MS = 5_000;",
      "const IDLE_POLL_INTERVAL_MS = 6_000;",
    ),
    "sends notification to parent session with full result": cutNotice,
  }),
];

export const ofTasks: readonly Entry[] = [...creation, ...status, ...retrieval, ...progress, ...batches, ...detection];
