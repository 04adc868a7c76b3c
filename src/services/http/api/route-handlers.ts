import type { z } from "@hono/zod-openapi";
import { createMiddleware } from "hono/factory";
import { HTTPException } from "hono/http-exception";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import { type Admissions, createTokenGuard } from "../access/admission.ts";
import { type App, type AppEnv, type ClientConnection, errorResponse, quote } from "../access/request-handling.ts";
import { ApiTask, Changes, type SourceResult } from "../contract/api-task.ts";
import * as schemas from "../contract/schemas.ts";
import { type AnnouncedServer, ApiFleet } from "../contract/schemas.ts";
import type { StatusSource } from "../engine-source.ts";
import { type Broadcast, respondWithStream } from "../events/sse-stream.ts";
import { MAX_SUBSCRIBERS } from "../events/task-feed.ts";
import type { Documents, LivePage } from "../pages.ts";
import type { WriteJson } from "./long-responses.ts";
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

  app.openapi(routes.task, async (c) => {
    const { id } = c.req.valid("param");
    const task = await source.comparedTask(resolveId(source, id));
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

  app.openapi(routes.way, (c) => {
    const { id } = c.req.valid("param");
    const way = source.way(resolveId(source, id));
    if (!way) throw notFoundError("task", id);
    return c.json(validated(log, schemas.TaskWay, way), 200);
  });

  app.openapi(routes.launches, (c) => c.json(validated(log, schemas.Launches, { launches: source.launches() }), 200));

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
    return respondWithStream(feed, c.env.connection, `${MAX_SUBSCRIBERS} subscribers`);
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

  const idOf = ({ id }: { id: string }) => resolveId(source, id);
  const respond = (connection: ClientConnection, result: SourceResult<ApiTask>) =>
    writeJson(connection, validated(log, ApiTask, valueOrThrow(result)));
  const respondChanges = (connection: ClientConnection, result: SourceResult<Changes>) =>
    writeJson(connection, validated(log, Changes, valueOrThrow(result)));

  app.openapi({ ...routes.cancel, middleware: withToken }, async (c) =>
    respond(c.env.connection, await source.cancel(idOf(c.req.valid("param")))),
  );
  app.openapi({ ...routes.pause, middleware: withToken }, async (c) =>
    respond(c.env.connection, await source.pause(idOf(c.req.valid("param")))),
  );
  app.openapi({ ...routes.continue, middleware: withToken }, async (c) =>
    respond(c.env.connection, await source.continue(idOf(c.req.valid("param")))),
  );
  app.openapi({ ...routes.apply, middleware: withToken }, async (c) =>
    respondChanges(c.env.connection, await source.apply(idOf(c.req.valid("param")))),
  );
  app.openapi({ ...routes.discard, middleware: withToken }, async (c) =>
    respondChanges(c.env.connection, await source.discard(idOf(c.req.valid("param")))),
  );
  app.openapi({ ...routes.resume, middleware: [withToken, bodyLimit] }, async (c) =>
    respond(c.env.connection, await source.resume(idOf(c.req.valid("param")), c.req.valid("json").prompt)),
  );
  app.openapi({ ...routes.retry, middleware: [withToken, bodyLimit] }, async (c) =>
    respond(c.env.connection, await source.retry(idOf(c.req.valid("param")), c.req.valid("json"))),
  );
  app.openapi({ ...routes.steer, middleware: [withToken, bodyLimit] }, async (c) =>
    respond(c.env.connection, await source.steer(idOf(c.req.valid("param")), c.req.valid("json").prompt)),
  );
  app.openapi({ ...routes.answers, middleware: [withToken, bodyLimit] }, async (c) =>
    respond(c.env.connection, await source.answer(idOf(c.req.valid("param")), c.req.valid("json"))),
  );
};

export interface ApiContext {
  source: StatusSource;
  feed: Broadcast;
  clock: Clock;
  log: Log;
  version: string;
  /** This server, as other processes identify it. */
  own: { pid: number; startedAt: string };
  /** Answers a challenge. May throw. */
  prove(challenge: string): string;
  /** Returns the servers of all processes, this one among them, each with a challenge and what it will answer to that. May throw. */
  servers(): Omit<AnnouncedServer, "isThis">[];
  writeJson: WriteJson;
  token: string;
  admissions: Admissions;
  isPasswordSet: boolean;
  /** The pages of the live view, each with its feed. */
  live: readonly { page: LivePage; feed: Broadcast }[];
  /** The board, and the description of the API; undefined: neither is served. */
  documents?: Documents | undefined;
}

const ID = /^[\w-]{1,128}$/;

/** Ids that the error for an ambiguous beginning lists. */
const MAX_CANDIDATES = 5;

const notFoundError = (what: string, id: string): HTTPException =>
  new HTTPException(404, { message: `There is no ${what} ${quote(id)}.` });

/**
 * Returns a response body as it is, and logs an error when it does not have the promised shape. It is sent all the same: a
 * task that an older version stored is better shown in part than not at all.
 */
const validated = <S extends z.ZodType>(log: Log, schema: S, value: z.output<S>): z.output<S> => {
  const parsed = schema.safeParse(value);
  if (!parsed.success) log.error("a response of the status API has the wrong shape", { reason: parsed.error.message });
  return value;
};

/**
 * Returns the id of the task that an id, or the beginning of one, means.
 * @throws a 404 when that is none, and a 409 when it is several
 */
const resolveId = (source: StatusSource, given: string): string => {
  if (!ID.test(given)) throw notFoundError("task", given);
  if (source.has(given)) return given;
  const candidates = source.idsFrom(given, MAX_CANDIDATES + 1);
  const [id, ...others] = candidates;
  if (id === undefined) throw notFoundError("task", given);
  if (others.length === 0) return id;
  const listed = candidates.slice(0, MAX_CANDIDATES).join(", ");
  const more = candidates.length > MAX_CANDIDATES ? " and more" : "";
  throw new HTTPException(409, {
    message: `${quote(given)} begins the ids of several tasks: ${listed}${more}. Give more of it.`,
  });
};

const STATUS_BY_CAUSE = { task: 409, host: 502, late: 504 } as const;

/** Returns the value of a result. @throws the error of the API for a failure, whose message begins with `what` */
const valueOrThrow = <T>(result: SourceResult<T>, what = ""): T => {
  if (result.ok) return result.value;
  throw new HTTPException(STATUS_BY_CAUSE[result.cause], { message: `${what}${result.reason}` });
};
