import { errorAnswer } from "../access/responses.ts";
import * as schemas from "../contract/schemas.ts";
import { groupOf, statsOf } from "../contract/stats.ts";
import { MOST_SUBSCRIBERS } from "../events/task-feed.ts";
import { type App, type AppDeps, idFinder, notDone, notFound, responseValidator } from "./app-context.ts";
import * as routes from "./routes.ts";

/** Batch ids are given by agents, in words of their own. */
const LONGEST_BATCH_ID = 512;

/** What can be read, by those who may: see `createReadGuard`. */
export const registerReads = (app: App, parts: AppDeps): void => {
  const { source, feed, clock, log, version, own, writeJson } = parts;
  const checked = responseValidator(log);
  const startedAt = clock.now();

  const find = idFinder(source);

  app.openapi(routes.health, (c) => {
    const uptime = Math.max(0, clock.now() - startedAt) / 1_000;
    const health = { status: "ok" as const, uptime, version, taskCount: source.stats().total, ...own };
    return c.json(checked(schemas.Health, health), 200);
  });

  app.openapi(routes.stats, (c) => c.json(checked(schemas.Stats, statsOf(source.stats())), 200));

  app.openapi(routes.tasks, (c) => {
    const { batch, ...filter } = c.req.valid("query");
    const { tasks, total } = source.page({ ...filter, batchId: batch });
    const { limit, offset } = filter;
    return writeJson(c.env.connection, checked(schemas.TaskPage, { tasks, total, limit, offset }));
  });

  app.openapi(routes.task, (c) => {
    const { id } = c.req.valid("param");
    const task = source.task(find(id));
    if (!task) throw notFound("task", id);
    return writeJson(c.env.connection, checked(schemas.Shown, task));
  });

  app.openapi(routes.logs, async (c) => {
    const messages = await source.logs(find(c.req.valid("param").id));
    if (messages.ok) return writeJson(c.env.connection, checked(schemas.Logs, messages.value));
    throw notDone({ ...messages, reason: `OpenCode does not give the messages: ${messages.reason}` });
  });

  app.openapi(routes.journal, (c) => {
    const { id } = c.req.valid("param");
    const journal = source.journal(find(id));
    if (!journal) throw notFound("task", id);
    return writeJson(c.env.connection, checked(schemas.Journal, journal));
  });

  app.openapi(routes.group, (c) => {
    const { id } = c.req.valid("param");
    const tasks = id.length > LONGEST_BATCH_ID ? [] : source.batch(id);
    if (tasks.length === 0) throw notFound("task group", id);
    return writeJson(c.env.connection, checked(schemas.Group, groupOf(id, tasks, clock.now())));
  });

  app.openapi(routes.machines, (c) => c.json(checked(schemas.Machines, source.machines()), 200));

  app.openapi(routes.machine, (c) => {
    const { name } = c.req.valid("param");
    const charts = source.machines();
    if (!Object.hasOwn(charts, name)) throw notFound("statechart", name);
    return c.json(checked(schemas.Machine, charts[name]), 200);
  });

  app.openapi(routes.events, (c) => {
    // A stream that nobody reads would be a subscriber for ever.
    if (c.req.raw.method === "HEAD") return errorAnswer(405, "HEAD is not for a stream.", { Allow: "GET, OPTIONS" });
    const stream = feed.subscribe(c.env.connection);
    if (!stream) {
      const error = `There are ${MOST_SUBSCRIBERS} subscribers, or too much is on its way to them: close one of them.`;
      return errorAnswer(503, error, { "Retry-After": "5" });
    }
    return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
  });
};
