import { type Entry, lines, type Planted, planted, seenBy } from "./entry.ts";

/* What asyncagents-task says of the stream of events, and of tasks that outlive the plugin. */

const API = ["asyncagents-task"] as const;

const FEED = "src/services/http/events/task-feed.ts";
const STREAM = "src/services/http/events/sse-stream.ts";
const SOURCE = "src/services/http/engine-source.ts";

const SSE = "Server-Sent Events Stream";
const CONNECTED = "Sends snapshot on initial connection";
const CREATED = "Sends task.created when new task launches";
const BEATS = "Sends heartbeat every 30 seconds";
const CONNECTED_AGAIN = "Sends fresh snapshot on reconnection";

const endedLeftOut = planted(
  FEED,
  "[...source.live(show), ...source.newestEnded(ENDED_TASKS, show)]",
  "[...source.live(show)]",
);
const withoutStats = planted(FEED, "stats: toStats(source.stats()), at }", "at }");

/** All subscribers are given the snapshot that the first one was given. */
const staleSnapshot = planted(
  FEED,
  "if (snapshot?.change === last.change && snapshot.count === last.count) return snapshot.frame;",
  "const kept = createTaskFeed as { first?: Uint8Array }; if (kept.first) return kept.first; queueMicrotask(() => { if (snapshot) kept.first = snapshot.frame; });",
);

/** The data of an event is no whole task. */
const dataOf = (data: string): Planted =>
  planted(FEED, "const data = JSON.stringify(task);", `const data = JSON.stringify(${data});`);

const idAlone = dataOf("{ sessionID: task.sessionID }");

const events: Entry[] = [
  ...lines(API, SSE, undefined, {
    "The server SHALL expose `GET /v1/events` as a Server-Sent Events (SSE) stream.": planted(
      STREAM,
      '"Content-Type": "text/event-stream"',
      '"Content-Type": "text/plain"',
      CONNECTED,
    ),
    "On connection, the server SHALL send a `snapshot` event containing all current tasks and aggregate stats.": [
      seenBy(CONNECTED, endedLeftOut),
      seenBy(CONNECTED, withoutStats),
    ],
    "After the snapshot, the server SHALL send delta events as task state changes.": planted(
      FEED,
      'yield changes.map(framesOf).join("");',
      "changes.map(framesOf);",
      CREATED,
    ),
    "The server SHALL send a `heartbeat` event every 30 seconds.": planted(
      STREAM,
      "const HEARTBEAT_MS = 30_000;",
      "const HEARTBEAT_MS = 29_000;",
      BEATS,
    ),
    "On client reconnection, the server SHALL send a fresh snapshot.": seenBy(CONNECTED_AGAIN, staleSnapshot),
  }),
  ...lines(API, SSE, CONNECTED, {
    "the server sends an SSE event with type `snapshot`": planted(FEED, 'sseFrame("snapshot",', 'sseFrame("state",'),
    "the event data contains all current tasks and aggregate statistics": [endedLeftOut, withoutStats],
  }),
  ...lines(API, SSE, CREATED, {
    "the server broadcasts an SSE event with type `task.created`": planted(
      FEED,
      'isNew ? ["task.created"] : []',
      'isNew ? ["task.updated"] : []',
    ),
    "the event data contains the full `BackgroundTask` object": idAlone,
  }),
  ...lines(API, SSE, "Sends task.updated when task progress changes", {
    "the server broadcasts an SSE event with type `task.updated`": planted(
      FEED,
      'return isNew ? created : ["task.updated"];',
      "return created;",
    ),
    "the event data contains the updated `BackgroundTask` object": dataOf("{ ...task, progress: undefined }"),
  }),
  ...lines(API, SSE, "Sends task.completed when task finishes successfully", {
    "the server broadcasts an SSE event with type `task.completed`": planted(
      FEED,
      ': "task.completed",',
      ': "task.updated",',
    ),
    "the event data contains the completed `BackgroundTask` object": [
      dataOf("{ ...task, result: undefined }"),
      planted(
        "src/services/http/contract/api-task.ts",
        "if (length > left) return briefTask(task);",
        "if (length > 0) return briefTask(task);",
        "Sends task.completed when task finishes successfully: with a task that is whole, as in the snapshot",
      ),
    ],
  }),
  ...lines(API, SSE, "Sends task.error when task fails", {
    "the server broadcasts an SSE event with type `task.error`": planted(
      FEED,
      'task.status === "error" ? "task.error" :',
      'task.status === "error" ? "task.completed" :',
    ),
    "the event data contains the failed `BackgroundTask` object with error details": dataOf(
      "{ ...task, error: undefined }",
    ),
  }),
  ...lines(API, SSE, "Sends task.cancelled when task is cancelled", {
    "the server broadcasts an SSE event with type `task.cancelled`": planted(
      FEED,
      'task.status === "cancelled" ? "task.cancelled" :',
      'task.status === "cancelled" ? "task.error" :',
    ),
    "the event data contains the cancelled `BackgroundTask` object": idAlone,
  }),
  ...lines(API, SSE, BEATS, {
    "the server sends an SSE event with type `heartbeat`": planted(STREAM, 'sseFrame("heartbeat",', 'sseFrame("ping",'),
    "the event data contains a `ts` field with the current ISO 8601 timestamp": planted(
      STREAM,
      "{ ts: new Date(clock.now()).toISOString() }",
      "{ ts: new Date(sentAt).toISOString() }",
    ),
  }),
  ...lines(API, SSE, CONNECTED_AGAIN, {
    "the server sends a new `snapshot` event with the current full state": staleSnapshot,
    "subsequent delta events resume from that point": planted(
      FEED,
      "last.change = source.latestChange();",
      "last.change = 0;",
    ),
  }),
];

const HISTORY = "Task History Persistence";
const RESTARTED = "Tasks persist across plugin restarts";
const LISTED = "Historical tasks appear in task list responses";
const SHOWN = "Task detail accessible for completed tasks after restart";

const forgotten = planted(
  "src/services/engine/engine.ts",
  "const effects = createEffects(ctx);",
  "const effects = createEffects(ctx); parts.store.remove(parts.store.list({}).flatMap(({ sessionID, runEndedAt }) => runEndedAt === undefined ? [] : [sessionID]));",
);

/** What is stored of a task lacks something. */
const stored = (without: string): Planted =>
  planted(
    "src/services/store/sqlite/task-table.ts",
    "packed(snapshot, store),",
    `packed({ ...snapshot, context: { ...snapshot.context, ${without}: undefined } }, store),`,
  );

const withoutProgress = planted(
  "src/services/store/sqlite/task-table.ts",
  "    JSON.stringify(task.progress),\n",
  "    JSON.stringify({ ...task.progress, toolCalls: 0 }),\n",
);

/** Pages have only tasks that run. */
const onlyLive = planted(
  SOURCE,
  "tasks.push(...toApiTasks(records).map(show));",
  "tasks.push(...toApiTasks(records.filter(({ task }) => !hasEnded(task))).map(show));",
);

const history: Entry[] = [
  ...lines(API, HISTORY, undefined, {
    "The plugin SHALL persist full task data to disk for history support.": [
      seenBy(SHOWN, stored("result")),
      seenBy(SHOWN, withoutProgress),
    ],
    "All tasks SHALL survive plugin restarts.": seenBy(RESTARTED, forgotten),
    "The `/v1/tasks` endpoint SHALL return both current and historical tasks.": seenBy(LISTED, onlyLive),
  }),
  ...lines(API, HISTORY, RESTARTED, {
    "all previously persisted tasks are loaded from disk into memory": planted(
      "src/services/engine/operations/read-task.ts",
      "const listed = store.list(filter).map((entry) => ({",
      "const listed = store.list(filter).filter(({ sessionID }) => snapshotOf(sessionID)).map((entry) => ({",
    ),
    "the tasks are available through the API immediately": onlyLive,
  }),
  ...lines(API, HISTORY, LISTED, {
    "the response includes tasks from before the restart alongside any new tasks": onlyLive,
  }),
  ...lines(API, HISTORY, SHOWN, {
    "the server returns the full task object": planted(
      SOURCE,
      "return task && compareGate(task);",
      "return task && compareGate(briefTask(task));",
    ),
    "all fields (status, error, progress, timestamps) are preserved": [
      stored("error"),
      stored("completedAt"),
      stored("resultRetrievedAt"),
      withoutProgress,
    ],
  }),
];

export const ofEventsAndHistory: readonly Entry[] = [...events, ...history];
