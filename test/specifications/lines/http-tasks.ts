import { type Entry, lines, planted, seenBy } from "./entry.ts";

/* What asyncagents-task says of the routes of the status API that show tasks. */

const API = ["asyncagents-task"] as const;
const ROUTES = "src/services/http/api/routes.ts";
const HANDLERS = "src/services/http/api/route-handlers.ts";
const SCHEMAS = "src/services/http/contract/schemas.ts";
const SOURCE = "src/services/http/engine-source.ts";

const LIST = "Task List API";

const countsAll = planted(
  HANDLERS,
  "validated(log, schemas.TaskPage, { tasks, total, limit, offset, ...usage })",
  "validated(log, schemas.TaskPage, { tasks, total: source.count(), limit, offset, ...usage })",
);
const countsPage = planted(
  HANDLERS,
  "validated(log, schemas.TaskPage, { tasks, total, limit, offset, ...usage })",
  "validated(log, schemas.TaskPage, { tasks, total: tasks.length, limit, offset, ...usage })",
);

/** The filter of a request is changed before it is used. */
const filterWith = (change: string, shownBy?: string) =>
  planted(HANDLERS, "source.page({ ...filter, ", `source.page({ ...filter, ${change}, `, shownBy);

const list: Entry[] = [
  ...lines(API, LIST, undefined, {
    "The server SHALL expose `GET /v1/tasks` that returns a paginated list of all tasks.": planted(
      ROUTES,
      'get("listTasks", "/v1/tasks",',
      'get("listTasks", "/v1/all-tasks",',
      "Returns all tasks when no filters applied",
    ),
    "The endpoint SHALL support filtering by status, agent type, and description keyword search.": [
      filterWith("status: undefined", "Filters by status parameter"),
      filterWith("agent: undefined", "Filters by agent parameter"),
      filterWith("search: undefined", "Searches description by keyword"),
    ],
    "The endpoint SHALL support `limit` and `offset` pagination with a default limit of 50 and a maximum limit of 200.":
      [
        filterWith("offset: 0", "Paginates with limit and offset"),
        planted(SCHEMAS, "default: 50, max: 200", "default: 40, max: 200", "Returns all tasks when no filters applied"),
        planted(SCHEMAS, "default: 50, max: 200", "default: 50, max: 500", "Paginates with limit and offset"),
      ],
  }),
  ...lines(API, LIST, "Returns all tasks when no filters applied", {
    "the server returns a JSON response containing all tasks (up to the default limit of 50)": [
      planted(SCHEMAS, "default: 50, max: 200", "default: 51, max: 200"),
      filterWith('status: filter.status ?? "completed"'),
    ],
    "the response includes `tasks` array, `total` count, `limit`, and `offset` fields": planted(
      HANDLERS,
      "validated(log, schemas.TaskPage, { tasks, total, limit, offset, ...usage })",
      "validated(log, schemas.TaskPage, { tasks, total, limit, ...usage } as never)",
    ),
  }),
  ...lines(API, LIST, "Filters by status parameter", {
    'the server returns only tasks with status `"running"`': filterWith("status: undefined"),
    "the `total` field reflects the filtered count": countsAll,
  }),
  ...lines(API, LIST, "Filters by agent parameter", {
    'the server returns only tasks assigned to the `"explore"` agent': filterWith("agent: undefined"),
    "the `total` field reflects the filtered count": countsAll,
  }),
  ...lines(API, LIST, "Searches description by keyword", {
    "the server returns tasks whose description contains the keyword (case-insensitive)": [
      filterWith("search: undefined"),
      planted("src/services/store/sqlite/listed-table.ts", "    .toLowerCase()\n", ""),
    ],
    "the `total` field reflects the filtered count": countsAll,
  }),
  ...lines(API, LIST, "Paginates with limit and offset", {
    "the server returns at most 10 tasks starting from the 21st result": [
      filterWith("limit: filter.limit + 1"),
      filterWith("offset: filter.offset + 1"),
    ],
    "the `total` field reflects the untruncated count of matching tasks": countsPage,
  }),
  ...lines(API, LIST, "Returns total count alongside results", {
    "the response MUST include a `total` field with the count of all matching tasks (before pagination)": [
      countsPage,
      countsAll,
    ],
  }),
];

const noTask = planted(
  HANDLERS,
  "new HTTPException(404, { message: `There is no ${what}",
  "new HTTPException(400, { message: `There is no ${what}",
);

/** The error is plain text. */
const notJson = planted(
  "src/services/http/api/app.ts",
  "if (error instanceof HTTPException) return errorResponse(error.status, error.message);",
  "if (error instanceof HTTPException) return error.getResponse();",
);

const JSON_404 = "the server returns HTTP 404 with a JSON error body";

const DETAIL = "Task Detail API";
const UNKNOWN_TASK = "Returns 404 for unknown ID";

const detail: Entry[] = [
  ...lines(API, DETAIL, undefined, {
    "The server SHALL expose `GET /v1/tasks/:id` that returns a single task by session ID.": planted(
      ROUTES,
      'get("getTask", "/v1/tasks/{id}",',
      'get("getTask", "/v1/task/{id}",',
      "Returns full task object for valid ID",
    ),
    "The server SHALL return HTTP 404 when the task is not found.": seenBy(UNKNOWN_TASK, noTask),
  }),
  ...lines(API, DETAIL, "Returns full task object for valid ID", {
    "the server returns the full `BackgroundTask` object as JSON": planted(
      SOURCE,
      "return task && compareGate(task);",
      "return task && compareGate(briefTask(task));",
    ),
  }),
  ...lines(API, DETAIL, UNKNOWN_TASK, { [JSON_404]: notJson }),
];

const LOGS = "Task Logs API";
const UNKNOWN_LOGS = "Returns 404 for unknown task ID";
const OF_ENDED = "Returns message history for a completed task";

const MESSAGES =
  'return messages.ok ? { ok: true, value: messages.value } : failure(messages.failure.message, "host");';
const masked = planted(
  SOURCE,
  MESSAGES,
  'return messages.ok ? { ok: true, value: JSON.parse(JSON.stringify(messages.value).replace(/sk-\\w+/g, "***")) } : failure(messages.failure.message, "host");',
);
const newestMessages = planted(
  SOURCE,
  MESSAGES,
  'return messages.ok ? { ok: true, value: messages.value.slice(-100) } : failure(messages.failure.message, "host");',
);

const logs: Entry[] = [
  ...lines(API, LOGS, undefined, {
    "The server SHALL expose `GET /v1/tasks/:id/logs` that returns the full message history for a task session.": [
      planted(
        ROUTES,
        'get("getTaskLogs", "/v1/tasks/{id}/logs",',
        'get("getTaskLogs", "/v1/tasks/{id}/log",',
        OF_ENDED,
      ),
      seenBy(OF_ENDED, newestMessages),
    ],
    "The endpoint SHALL call `getTaskMessages()` and return unmasked messages.": seenBy(
      "Returns message history for a running task",
      masked,
    ),
    "The server SHALL return HTTP 404 when the task is not found.": seenBy(UNKNOWN_LOGS, noTask),
  }),
  ...lines(API, LOGS, "Returns message history for a running task", {
    "the server returns the current message history as a JSON array": planted(
      HANDLERS,
      "validated(log, schemas.Logs, value)",
      "{ messages: value }",
    ),
    "messages are returned unmasked (no sensitive data filtering)": masked,
  }),
  ...lines(API, LOGS, OF_ENDED, {
    "the server returns the full message history accumulated during execution": newestMessages,
  }),
  ...lines(API, LOGS, UNKNOWN_LOGS, { [JSON_404]: notJson }),
];

const GROUPS = "Task Groups API";
const GROUP = "Returns group with all member tasks and aggregate stats";

const noRate = planted(SCHEMAS, 'countOf("completed") / tasks.length,', '1 - countOf("error") / tasks.length,');
const noErrors = planted(SCHEMAS, 'error: countOf("error"),', 'error: countOf("cancelled"),');
const noDuration = planted(
  SCHEMAS,
  "Math.max(...ends) - Math.min(...starts)",
  "Math.max(...ends) - Math.max(...starts)",
);
const noCalls = planted(
  SCHEMAS,
  "(sum, { progress }) => sum + progress.toolCalls, 0",
  "(most, { progress }) => Math.max(most, progress.toolCalls), 0",
);

const groups: Entry[] = [
  ...lines(API, GROUPS, undefined, {
    "The server SHALL expose `GET /v1/task-groups/:id` that returns aggregate data for a batch of tasks grouped by `batchId`.":
      planted(
        ROUTES,
        'get("getTaskGroup", "/v1/task-groups/{id}",',
        'get("getTaskGroup", "/v1/task-group/{id}",',
        GROUP,
      ),
    "The response SHALL include group-level statistics: completion rate, error count, total duration, and total tool calls.":
      [noRate, noErrors, noDuration, noCalls].map((mistake) => seenBy(GROUP, mistake)),
  }),
  ...lines(API, GROUPS, GROUP, {
    "the server returns all tasks sharing that `batchId`": planted(
      HANDLERS,
      "[] : source.batch(id);",
      "[] : source.batch(id).slice(1);",
    ),
    "the response includes aggregate statistics: `completed`, `running`, `error`, `cancelled`, `total`, `completionRate`, `totalToolCalls`, and `duration`":
      [
        planted(SCHEMAS, 'completed: countOf("completed"),', 'completed: countOf("completed") + countOf("error"),'),
        planted(
          SCHEMAS,
          'running: countOf("running"),\n    resumed',
          'running: countOf("running") + countOf("resumed"),\n    resumed',
        ),
        noErrors,
        planted(SCHEMAS, 'cancelled: countOf("cancelled"),', 'cancelled: countOf("error"),'),
        planted(SCHEMAS, "    total: tasks.length,\n", '    total: tasks.length - countOf("cancelled"),\n'),
        noRate,
        noCalls,
        noDuration,
      ],
  }),
  ...lines(API, GROUPS, "Returns 404 for unknown group ID", { [JSON_404]: notJson }),
];

export const ofHttpTasks: readonly Entry[] = [...list, ...detail, ...logs, ...groups];
