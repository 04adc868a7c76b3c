import { createMiddleware } from "hono/factory";
import { HTTPException } from "hono/http-exception";
import { createTokenGuard } from "../access/admission.ts";
import { type App, type AppEnv, type ClientConnection, errorResponse } from "../access/request-handling.ts";
import { ApiTask, Changes } from "../contract/api-task.ts";
import * as schemas from "../contract/schemas.ts";
import { ApiFleet } from "../contract/schemas.ts";
import type { SourceResult } from "../contract/status-source.ts";
import { MAX_SUBSCRIBERS } from "../events/task-feed.ts";
import { type ApiContext, notFoundError, resolveId, validated, valueOrThrow } from "./context.ts";
import { routes } from "./routes.ts";

/** Agents choose batch ids freely; a longer one is not looked up. */
const MAX_BATCH_ID_CHARS = 512;

/** Registers the routes that read. `createReadGuard` decides who may use them. */
export const registerReadRoutes = (app: App, context: ApiContext): void => {
  const { source, feed, clock, log, version, own, prove, servers, writeJson } = context;
  const startedAt = clock.now();

  app.openapi(routes.health, (c) => {
    const uptime = Math.max(0, clock.now() - startedAt) / 1_000;
    const health = { status: "ok" as const, uptime, version, taskCount: source.stats().total, ...own };
    const { challenge } = c.req.valid("query");
    const proof = challenge === undefined ? {} : { proof: prove(challenge) };
    return c.json(validated(log, schemas.Health, { ...health, ...proof }), 200);
  });

  app.openapi(routes.servers, (c) => {
    const all = servers().map((server) => ({ ...server, isThis: server.pid === own.pid }));
    return c.json(validated(log, schemas.Servers, { servers: all }), 200);
  });

  app.openapi(routes.stats, (c) => c.json(validated(log, schemas.Stats, schemas.toStats(source.stats())), 200));

  app.openapi(routes.tasks, (c) => {
    const { parent, batch, ...filter } = c.req.valid("query");
    const { tasks, total } = source.page({ ...filter, parentSessionID: parent, batchId: batch });
    const { limit, offset } = filter;
    const isGroup = parent !== undefined || batch !== undefined;
    const usage = isGroup ? { usage: source.groupUsage({ parentSessionID: parent, batchId: batch }) } : {};
    return writeJson(c.env.connection, validated(log, schemas.TaskPage, { tasks, total, limit, offset, ...usage }));
  });

  app.openapi(routes.task, (c) => {
    const { id } = c.req.valid("param");
    const task = source.task(resolveId(source, id));
    if (!task) throw notFoundError("task", id);
    return writeJson(c.env.connection, validated(log, ApiTask, task));
  });

  app.openapi(routes.logs, async (c) => {
    const messages = await source.logs(resolveId(source, c.req.valid("param").id));
    const value = valueOrThrow(messages, "OpenCode does not return the messages: ");
    return writeJson(c.env.connection, validated(log, schemas.Logs, value));
  });

  app.openapi(routes.changes, async (c) => {
    const changes = valueOrThrow(await source.changes(resolveId(source, c.req.valid("param").id)));
    return writeJson(c.env.connection, validated(log, Changes, changes));
  });

  app.openapi(routes.journal, (c) => {
    const { id } = c.req.valid("param");
    const journal = source.journal(resolveId(source, id));
    if (!journal) throw notFoundError("task", id);
    return writeJson(c.env.connection, validated(log, schemas.TaskJournal, journal));
  });

  app.openapi(routes.group, (c) => {
    const { id } = c.req.valid("param");
    const tasks = id.length > MAX_BATCH_ID_CHARS ? [] : source.batch(id);
    if (tasks.length === 0) throw notFoundError("task group", id);
    const group = schemas.toGroup(id, tasks, source.usage(tasks), clock.now());
    return writeJson(c.env.connection, validated(log, schemas.Group, group));
  });

  app.openapi(routes.fleet, async (c) => c.json(validated(log, ApiFleet, await source.fleet()), 200));

  app.openapi(routes.machines, (c) => c.json(validated(log, schemas.Machines, source.machines()), 200));

  app.openapi(routes.machine, (c) => {
    const { name } = c.req.valid("param");
    const charts = source.machines();
    if (!Object.hasOwn(charts, name)) throw notFoundError("statechart", name);
    return c.json(validated(log, schemas.Machine, charts[name]), 200);
  });

  app.openapi(routes.events, (c) => {
    // A HEAD request would open a stream that nobody reads, and that would count as a subscriber for ever.
    if (c.req.raw.method === "HEAD") {
      return errorResponse(405, "HEAD is not supported for a stream.", { Allow: "GET, OPTIONS" });
    }
    const stream = feed.subscribe(c.env.connection);
    if (stream) return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
    const error = `There are ${MAX_SUBSCRIBERS} subscribers, or too much data is on its way to them: close one of them.`;
    return errorResponse(503, error, { "Retry-After": "5" });
  });
};

/** The longest body that is accepted, in bytes: far more than any prompt that a model could take. */
const MAX_BODY_BYTES = 1_048_576;

/** Rejects a body that is too long, or that comes without its length: no client needs to send one like that. */
const bodyLimit = createMiddleware<AppEnv>(async (c, next) => {
  const length = c.req.header("content-length");
  if (length === undefined) throw new HTTPException(411, { message: "The header Content-Length is missing." });
  if (Number(length) > MAX_BODY_BYTES) {
    throw new HTTPException(413, { message: `The body is too long: at most ${MAX_BODY_BYTES} bytes are accepted.` });
  }
  await next();
});

/** Registers the routes that change tasks. All of them require the token. */
export const registerCommandRoutes = (app: App, { source, log, token, writeJson }: ApiContext): void => {
  const withToken = createTokenGuard(token);

  const respond = (connection: ClientConnection, result: SourceResult<ApiTask>) =>
    writeJson(connection, validated(log, ApiTask, valueOrThrow(result)));

  const respondChanges = (connection: ClientConnection, result: SourceResult<Changes>) =>
    writeJson(connection, validated(log, Changes, valueOrThrow(result)));

  app.openapi({ ...routes.cancel, middleware: withToken }, async (c) =>
    respond(c.env.connection, await source.cancel(resolveId(source, c.req.valid("param").id))),
  );

  app.openapi({ ...routes.apply, middleware: withToken }, async (c) =>
    respondChanges(c.env.connection, await source.apply(resolveId(source, c.req.valid("param").id))),
  );

  app.openapi({ ...routes.discard, middleware: withToken }, async (c) =>
    respondChanges(c.env.connection, await source.discard(resolveId(source, c.req.valid("param").id))),
  );

  app.openapi({ ...routes.resume, middleware: [withToken, bodyLimit] }, async (c) =>
    respond(
      c.env.connection,
      await source.resume(resolveId(source, c.req.valid("param").id), c.req.valid("json").prompt),
    ),
  );

  app.openapi({ ...routes.steer, middleware: [withToken, bodyLimit] }, async (c) =>
    respond(
      c.env.connection,
      await source.steer(resolveId(source, c.req.valid("param").id), c.req.valid("json").prompt),
    ),
  );

  app.openapi({ ...routes.answers, middleware: [withToken, bodyLimit] }, async (c) =>
    respond(c.env.connection, await source.answer(resolveId(source, c.req.valid("param").id), c.req.valid("json"))),
  );
};
