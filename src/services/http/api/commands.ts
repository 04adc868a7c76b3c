import { createMiddleware } from "hono/factory";
import { HTTPException } from "hono/http-exception";
import { tokenRejectionOf } from "../access/request-check.ts";
import { errorAnswer } from "../access/responses.ts";
import * as schemas from "../contract/schemas.ts";
import type { Done, ShownTask } from "../contract/status-source.ts";
import type { ClientConnection } from "../events/sse-stream.ts";
import { type App, type AppDeps, type AppEnv, idFinder, notDone, responseValidator } from "./app-context.ts";
import * as routes from "./routes.ts";

/** Bytes of a body: far more than any prompt that a model could take. */
const LONGEST_BODY = 1_048_576;

/** What changes something: only for those who can read the token. */
export const registerCommands = (app: App, { source, log, token, writeJson }: AppDeps): void => {
  const checked = responseValidator(log);
  const find = idFinder(source);

  const answerFor = (connection: ClientConnection, done: Done<ShownTask>) => {
    if (!done.ok) throw notDone(done);
    return writeJson(connection, checked(schemas.Shown, done.value));
  };

  const withToken = createMiddleware<AppEnv>(async (c, next) => {
    const refusal = tokenRejectionOf(c.req.header("authorization"), token);
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

  app.openapi({ ...routes.cancel, middleware: withToken }, async (c) =>
    answerFor(c.env.connection, await source.cancel(find(c.req.valid("param").id))),
  );

  app.openapi({ ...routes.resume, middleware: [withToken, bounded] }, async (c) =>
    answerFor(c.env.connection, await source.resume(find(c.req.valid("param").id), c.req.valid("json").prompt)),
  );

  app.openapi({ ...routes.answers, middleware: [withToken, bounded] }, async (c) =>
    answerFor(c.env.connection, await source.answer(find(c.req.valid("param").id), c.req.valid("json"))),
  );
};
