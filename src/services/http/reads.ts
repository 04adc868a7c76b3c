import { type App, type AppParts, checker, notFound, readId } from "./answering.ts";
import { errorAnswer } from "./cors.ts";
import { MOST_SUBSCRIBERS } from "./feed.ts";
import { groupOf, statsOf } from "./figures.ts";
import * as routes from "./routes.ts";
import * as schemas from "./schemas.ts";
import type { ShownTask } from "./source.ts";

/** Batch ids are given by agents, in words of their own. */
const LONGEST_BATCH_ID = 512;

/** What can be read: everybody on this machine may. */
export const registerReads = (app: App, { source, feed, clock, log, version }: AppParts): void => {
  const checked = checker(log);
  const startedAt = clock.now();

  const find = (id: string): ShownTask => {
    const task = readId(id) && source.task(id);
    if (!task) throw notFound("task", id);
    return task;
  };

  app.openapi(routes.health, (c) => {
    const uptime = Math.max(0, clock.now() - startedAt) / 1_000;
    return c.json(checked(schemas.Health, { status: "ok", uptime, version, taskCount: source.tallies().total }), 200);
  });

  app.openapi(routes.stats, (c) => c.json(checked(schemas.Stats, statsOf(source.tallies())), 200));

  app.openapi(routes.tasks, (c) => {
    const { batch, ...filter } = c.req.valid("query");
    const { tasks, total } = source.page({ ...filter, batchId: batch });
    const { limit, offset } = filter;
    return c.json(checked(schemas.TaskPage, { tasks, total, limit, offset }), 200);
  });

  app.openapi(routes.task, (c) => c.json(checked(schemas.Shown, find(c.req.valid("param").id)), 200));

  app.openapi(routes.logs, async (c) => {
    const messages = await source.logs(find(c.req.valid("param").id).sessionID);
    if (messages.ok) return c.json(checked(schemas.Logs, messages.value), 200);
    return c.json({ error: `OpenCode does not give the messages: ${messages.reason}`, status: 502 }, 502);
  });

  app.openapi(routes.journal, (c) => {
    const { id } = c.req.valid("param");
    const journal = readId(id) && source.journal(id);
    if (!journal) throw notFound("task", id);
    return c.json(checked(schemas.Journal, journal), 200);
  });

  app.openapi(routes.group, (c) => {
    const { id } = c.req.valid("param");
    const tasks = id.length > LONGEST_BATCH_ID ? [] : source.batch(id);
    if (tasks.length === 0) throw notFound("task group", id);
    return c.json(checked(schemas.Group, groupOf(id, tasks, clock.now())), 200);
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
      const error = `There are ${MOST_SUBSCRIBERS} subscribers, and no more are served: close one of them.`;
      return errorAnswer(503, error, { "Retry-After": "5" });
    }
    return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
  });
};
