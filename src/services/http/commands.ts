import { createMiddleware } from "hono/factory";
import { HTTPException } from "hono/http-exception";
import { tokenRefusalOf } from "./access.ts";
import { type App, type AppEnv, type AppParts, checker, notFound, readId } from "./answering.ts";
import { errorAnswer } from "./cors.ts";
import * as routes from "./routes.ts";
import * as schemas from "./schemas.ts";

/** Bytes of a body: far more than any prompt that a model could take. */
const LONGEST_BODY = 1_048_576;

/** What changes something: only for those who can read the token. */
export const registerCommands = (app: App, { source, log, token }: AppParts): void => {
  const checked = checker(log);

  const find = (id: string): string => {
    if (!readId(id) || !source.task(id)) throw notFound("task", id);
    return id;
  };

  const withToken = createMiddleware<AppEnv>(async (c, next) => {
    const refusal = tokenRefusalOf(c.req.header("authorization"), token);
    if (refusal) return errorAnswer(refusal.status, refusal.error, { "WWW-Authenticate": "Bearer" });
    await next();
  });

  const bounded = createMiddleware<AppEnv>(async (c, next) => {
    const length = c.req.header("content-length");
    // Without its length a body is refused, not counted while it comes: nobody needs to send one so.
    if (length === undefined) throw new HTTPException(411, { message: "The length of the body is not given." });
    if (Number(length) > LONGEST_BODY) {
      throw new HTTPException(413, { message: `The body is too long: at most ${LONGEST_BODY} bytes.` });
    }
    await next();
  });

  app.openapi({ ...routes.cancel, middleware: withToken }, async (c) => {
    const cancelled = await source.cancel(find(c.req.valid("param").id));
    if (!cancelled.ok) return c.json({ error: cancelled.reason, status: 409 }, 409);
    return c.json(checked(schemas.Shown, cancelled.value), 200);
  });

  app.openapi({ ...routes.resume, middleware: [withToken, bounded] }, async (c) => {
    const resumed = await source.resume(find(c.req.valid("param").id), c.req.valid("json").prompt);
    if (!resumed.ok) return c.json({ error: resumed.reason, status: 409 }, 409);
    return c.json(checked(schemas.Shown, resumed.value), 200);
  });

  app.openapi({ ...routes.answers, middleware: [withToken, bounded] }, async (c) => {
    const answered = await source.answer(find(c.req.valid("param").id), c.req.valid("json"));
    if (!answered.ok) return c.json({ error: answered.reason, status: 409 }, 409);
    return c.json(checked(schemas.Shown, answered.value), 200);
  });
};
