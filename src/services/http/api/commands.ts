import { createMiddleware } from "hono/factory";
import { HTTPException } from "hono/http-exception";
import { createTokenGuard } from "../access/admission.ts";
import type { App, AppEnv, ClientConnection } from "../access/app-env.ts";
import { ApiTask, type SourceResult } from "../contract/status-source.ts";
import { type AppDeps, idResolver, responseValidator, sourceError } from "./app-context.ts";
import * as routes from "./routes.ts";

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
export const registerCommands = (app: App, { source, log, token, writeJson }: AppDeps): void => {
  const validated = responseValidator(log);
  const resolveId = idResolver(source);
  const withToken = createTokenGuard(token);

  const respond = (connection: ClientConnection, result: SourceResult<ApiTask>) => {
    if (!result.ok) throw sourceError(result);
    return writeJson(connection, validated(ApiTask, result.value));
  };

  app.openapi({ ...routes.cancel, middleware: withToken }, async (c) =>
    respond(c.env.connection, await source.cancel(resolveId(c.req.valid("param").id))),
  );

  app.openapi({ ...routes.resume, middleware: [withToken, bodyLimit] }, async (c) =>
    respond(c.env.connection, await source.resume(resolveId(c.req.valid("param").id), c.req.valid("json").prompt)),
  );

  app.openapi({ ...routes.answers, middleware: [withToken, bodyLimit] }, async (c) =>
    respond(c.env.connection, await source.answer(resolveId(c.req.valid("param").id), c.req.valid("json"))),
  );
};
