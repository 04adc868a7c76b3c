import { type Entry, lines, planted, seenBy } from "./entry.ts";

/* What asyncagents-task says of the server of the status API, and of the file by which it is found. */

const API = ["asyncagents-task"] as const;
const SERVER = "src/services/http/server/status-server.ts";
const LISTENER = "src/services/http/server/status-server.ts";
const NODE = "src/services/http/server/node.ts";
const ANNOUNCE = "src/services/http/discovery/announce.ts";
const FILES = "src/services/http/discovery/announce.ts";
const PLUGIN = "src/plugin.ts";

const notStarted = planted(PLUGIN, "opening.whenProcessStays(statusApi.permit);", "");
const elsewhere = planted(NODE, "server.listen(port, LOOPBACK);", 'server.listen(port, "127.0.0.2");');
const alwaysServed = planted(SERVER, "if (!isEnabled(options.env)) return undefined;", "");
const notWritten = planted(ANNOUNCE, "files.writeServer(own);", "");
const notDeleted = planted(ANNOUNCE, "if (isOurs()) files.removeServer();", "");
const withoutStart = planted(
  FILES,
  "writeServer: (server: ServerFile) => write(serverFile, server),",
  "writeServer: ({ startedAt: _, ...server }) => write(serverFile, server as never),",
);

const SERVER_API = "HTTP Status API Server";

const server: Entry[] = [
  ...lines(API, SERVER_API, undefined, {
    "The plugin SHALL provide an embedded HTTP API server using `Bun.serve()` that exposes task and agent status to external consumers.":
      planted(
        SERVER,
        "if (!isEnabled(options.env)) return undefined;",
        "if (deps) return undefined;",
        "Server starts on plugin init",
      ),
    "The server SHALL bind to `127.0.0.1` on a configurable port (default 5165, overridable via `ASYNCAGENTS_API_PORT`).":
      [
        seenBy("Server starts on plugin init", elsewhere),
        planted(
          "src/services/http/loopback.ts",
          "export const DEFAULT_PORT = 5_165;",
          "export const DEFAULT_PORT = 5_166;",
          "Server retries next port on collision",
        ),
        planted(
          LISTENER,
          "const first = isPort ? Number(configured) : DEFAULT_PORT;",
          "const first = DEFAULT_PORT;",
          "Server retries next port on collision",
        ),
      ],
    "The server SHALL start automatically when the plugin initializes.": seenBy(
      "Server starts on plugin init",
      notStarted,
    ),
    "The server SHALL be disabled entirely by setting `ASYNCAGENTS_API_ENABLED=false`.": seenBy(
      "Server is disabled via environment variable",
      alwaysServed,
    ),
  }),
  ...lines(API, SERVER_API, "Server starts on plugin init", {
    "the server starts listening on `127.0.0.1` at the configured port": [
      elsewhere,
      planted(
        LISTENER,
        "return [...ports.filter((port) => port <= MAX_PORT), 0];",
        "return [...ports.filter((port) => port <= MAX_PORT), 0].reverse();",
      ),
    ],
    "the server is ready to accept HTTP requests before any tool calls are processed": planted(
      PLUGIN,
      "return afterReady(statusApi.ready, tools());",
      "return tools();",
    ),
  }),
  ...lines(API, SERVER_API, "Server retries next port on collision", {
    "the server SHALL try up to 10 consecutive ports (e.g., 5165 → 5166 → ... → 5174)": planted(
      LISTENER,
      "const PORTS_TO_TRY = 10;",
      "const PORTS_TO_TRY = 5;",
    ),
    "if all 10 attempts fail, the server SHALL fall back to OS-assigned port (`:0`)": planted(
      LISTENER,
      "return [...ports.filter((port) => port <= MAX_PORT), 0];",
      "return ports.filter((port) => port <= MAX_PORT);",
      "Server retries next port on collision: with ten taken, the system gives one",
    ),
  }),
  ...lines(API, SERVER_API, "Server writes discovery file on start", {
    "the server writes `server.json` to the plugin storage directory": notWritten,
    "the file contains `port`, `pid`, `startedAt`, and `url` fields": withoutStart,
  }),
  ...lines(API, SERVER_API, "Server stops gracefully on process exit", {
    "the server stops accepting new connections": planted(
      NODE,
      "      server.close();\n      server.closeIdleConnections();",
      "      setTimeout(() => server.close(), 60_000);",
    ),
    "in-flight responses are allowed to complete": planted(
      SERVER,
      "const timer = setTimeout(app.abortPending, GRACE_MS);",
      "app.abortPending(); const timer = setTimeout(app.abortPending, GRACE_MS);",
    ),
    "`server.json` is deleted": notDeleted,
  }),
  ...lines(API, SERVER_API, "Server is disabled via environment variable", {
    "no HTTP server is started": alwaysServed,
    "no `server.json` is written": planted(
      SERVER,
      "if (!isEnabled(options.env)) return undefined;",
      "if (!isEnabled(options.env)) { createDiscoveryFiles(deps.folder).prepare(); return undefined; }",
    ),
    "all other plugin functionality remains unaffected": planted(
      PLUGIN,
      "return afterReady(statusApi.ready, tools());",
      'return process.env.ASYNCAGENTS_API_ENABLED === "false" ? {} : afterReady(statusApi.ready, tools());',
    ),
  }),
];

const DISCOVERY = "Port Discovery";
const CREATED = "server.json created on server start";
const DELETED = "server.json deleted on graceful shutdown";
const FOUND = "server.json enables external tool discovery";

const wrongAddress = planted(
  SERVER,
  "createAnnouncement({ ...own, port, url, token }",
  "createAnnouncement({ ...own, port, url: `${url}0`, token }",
);

const discovery: Entry[] = [
  ...lines(API, DISCOVERY, undefined, {
    "The server SHALL write a `server.json` file to the plugin storage directory containing the active port, process ID, start time, and URL.":
      [seenBy(CREATED, notWritten), seenBy(CREATED, withoutStart)],
    "The server SHALL delete `server.json` on graceful shutdown.": seenBy(DELETED, notDeleted),
    "External tools SHALL be able to discover the server by reading this file.": seenBy(FOUND, wrongAddress),
  }),
  ...lines(API, DISCOVERY, CREATED, {
    "a `server.json` file is written to the plugin storage directory": notWritten,
    "the file contains `port` (number), `pid` (number), `startedAt` (ISO 8601 string), and `url` (string) fields": [
      withoutStart,
      planted(
        FILES,
        "writeServer: (server: ServerFile) => write(serverFile, server),",
        "writeServer: (server: ServerFile) => write(serverFile, { ...server, port: String(server.port) } as never),",
      ),
      planted(
        FILES,
        "writeServer: (server: ServerFile) => write(serverFile, server),",
        "writeServer: (server: ServerFile) => write(serverFile, { ...server, pid: String(server.pid) } as never),",
      ),
      planted(
        FILES,
        "writeServer: (server: ServerFile) => write(serverFile, server),",
        "writeServer: (server: ServerFile) => write(serverFile, { ...server, startedAt: String(new Date(server.startedAt)) }),",
      ),
      planted(
        FILES,
        "writeServer: (server: ServerFile) => write(serverFile, server),",
        "writeServer: ({ url: _, ...server }) => write(serverFile, server as never),",
      ),
    ],
  }),
  ...lines(API, DISCOVERY, DELETED, { "the `server.json` file is deleted from disk": notDeleted }),
  ...lines(API, DISCOVERY, FOUND, {
    "it can connect to the server using the `url` field": wrongAddress,
    "it can verify liveness by calling `GET /v1/health`": planted(
      "src/services/http/access/admission.ts",
      "const { method, path } = c.req;",
      'const { method, path } = c.req; if (path === "/v1/health") return errorResponse(401, "no");',
    ),
  }),
];

export const ofHttpServer: readonly Entry[] = [...server, ...discovery];
