import { type Entry, lines, planted, seenBy } from "./entry.ts";

/* What asyncagents-task says of the health of the status API, of its statistics, and of the headers of its responses. */

const API = ["asyncagents-task"] as const;
const ROUTES = "src/services/http/api/routes.ts";
const HANDLERS = "src/services/http/api/route-handlers.ts";
const SCHEMAS = "src/services/http/contract/schemas.ts";
const HEADERS = "src/services/http/access/request-handling.ts";

const HEALTH = "Health and Stats Endpoints";
const IS_HEALTHY = "Health endpoint returns ok status with uptime";
const COUNTS = "Stats endpoint returns counts by status and agent";
const DURATIONS = "Stats endpoint returns duration statistics";

const STATS = "  byStatus,\n  byAgent,\n  duration,\n  totalTasks: total,";

const health: Entry[] = [
  ...lines(API, HEALTH, undefined, {
    "The server SHALL expose `GET /v1/health` returning server health status including uptime, version, and task count.":
      planted(
        HANDLERS,
        "uptime, version, taskCount: source.stats().total,",
        "uptime, version, taskCount: source.live((task) => task).length,",
        IS_HEALTHY,
      ),
    "The server SHALL expose `GET /v1/stats` returning aggregate statistics including counts by status, counts by agent, and duration metrics (average, maximum, minimum).":
      planted(ROUTES, 'get("getStats", "/v1/stats",', 'get("getStats", "/v1/statistics",', COUNTS),
  }),
  ...lines(API, HEALTH, IS_HEALTHY, {
    'the server returns JSON with `status: "ok"`, `uptime` (seconds), `version`, and `taskCount`': [
      planted(HANDLERS, 'status: "ok" as const,', 'status: "up" as const,'),
      planted(HANDLERS, "Math.max(0, clock.now() - startedAt) / 1_000", "Math.max(0, clock.now() - startedAt)"),
      planted(HANDLERS, "uptime, version, taskCount:", 'uptime, version: "0.0.0", taskCount:'),
      planted(
        HANDLERS,
        "uptime, version, taskCount: source.stats().total,",
        "uptime, version, taskCount: source.live((task) => task).length,",
      ),
    ],
  }),
  ...lines(API, HEALTH, COUNTS, {
    "the server returns JSON with `byStatus` (mapping status → count) and `byAgent` (mapping agent → count)": [
      planted("src/services/store/sqlite/task-query.ts", "byStatus[status] += count;", "byStatus[status] = 1;"),
      planted("src/services/store/sqlite/task-query.ts", "(byAgent.get(agent) ?? 0) + count", "count"),
    ],
  }),
  ...lines(API, HEALTH, DURATIONS, {
    "the response includes a `duration` object with `avg`, `max`, and `min` fields (in milliseconds)": [
      planted(
        SCHEMAS,
        STATS,
        "  byStatus,\n  byAgent,\n  duration: { ...duration, avg: duration.max },\n  totalTasks: total,",
      ),
      planted(
        SCHEMAS,
        STATS,
        "  byStatus,\n  byAgent,\n  duration: { ...duration, max: duration.avg },\n  totalTasks: total,",
      ),
      planted(SCHEMAS, STATS, "  byStatus,\n  byAgent,\n  duration: { ...duration, min: 0 },\n  totalTasks: total,"),
    ],
    "the response includes `totalTasks` and `activeTasks` counts": [
      planted(SCHEMAS, "  totalTasks: total,\n", "  totalTasks: byStatus.completed,\n"),
      planted(SCHEMAS, "activeTasks: byStatus.running + byStatus.resumed,", "activeTasks: byStatus.running,"),
    ],
  }),
];

const CORS = "CORS Support";
const ALLOWED = "Responses include CORS headers";
const PREFLIGHT = "OPTIONS preflight returns 204 with CORS headers";

const anyOrigin = planted(
  HEADERS,
  '"Access-Control-Allow-Origin": "*",',
  '"Access-Control-Allow-Origin": "http://localhost",',
);
const otherStatus = planted(HEADERS, "new Response(null, { status: 204 })", 'new Response("", { status: 200 })');
const barePreflight = planted(
  HEADERS,
  "return isServed ? withCommonHeaders(response) :",
  "return isServed ? withHeaders(response, PRIVACY_HEADERS) :",
);

const cors: Entry[] = [
  ...lines(API, CORS, undefined, {
    "The server SHALL include CORS headers on all responses to support browser-based consumers.": [
      planted(
        HEADERS,
        "withCommonHeaders(Response.json({ error, status }, { status, headers }))",
        "withHeaders(Response.json({ error, status }, { status, headers }), PRIVACY_HEADERS)",
        ALLOWED,
      ),
      planted(
        "src/services/http/api/app.ts",
        "return withCommonHeaders(await fetchOrAbort(request, connection));",
        "return await fetchOrAbort(request, connection);",
        ALLOWED,
      ),
    ],
    "`Access-Control-Allow-Origin` SHALL be set to `*` (safe because the server binds to localhost only).": seenBy(
      ALLOWED,
      anyOrigin,
    ),
    "All `OPTIONS` requests SHALL return `204 No Content` with CORS headers.": [
      seenBy(PREFLIGHT, otherStatus),
      seenBy(PREFLIGHT, barePreflight),
    ],
  }),
  ...lines(API, CORS, ALLOWED, {
    "the response includes `Access-Control-Allow-Origin: *`": anyOrigin,
    "the response includes `Access-Control-Allow-Methods: GET, OPTIONS`": planted(
      HEADERS,
      '"Access-Control-Allow-Methods": "GET, OPTIONS",',
      '"Access-Control-Allow-Methods": "GET",',
    ),
    "the response includes `Access-Control-Allow-Headers: Content-Type`": planted(
      HEADERS,
      '  "Access-Control-Allow-Headers": "Content-Type",\n',
      "",
    ),
  }),
  ...lines(API, CORS, PREFLIGHT, {
    "the server returns HTTP 204 No Content": otherStatus,
    "the response includes all CORS headers": barePreflight,
  }),
];

export const ofHttpHealth: readonly Entry[] = [...health, ...cors];
