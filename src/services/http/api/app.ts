import { OpenAPIHono, type z } from "@hono/zod-openapi";
import { HTTPException } from "hono/http-exception";
import { errorMessage } from "../../platform/log.ts";
import { createReadGuard } from "../access/admission.ts";
import { quoted, rejectionOf } from "../access/request-check.ts";
import { errorAnswer, preflight, withCors } from "../access/responses.ts";
import { SourceUnavailable } from "../contract/status-source.ts";
import type { ClientConnection } from "../events/sse-stream.ts";
import { registerLivePage } from "../live/pages.ts";
import type { App, AppDeps, AppEnv } from "./app-context.ts";
import { registerCommands } from "./commands.ts";
import { registerReads } from "./reads.ts";
import * as routes from "./routes.ts";

/** Answers a request, whichever runtime it came by. */
export type RequestHandler = (request: Request, connection: ClientConnection) => Response | Promise<Response>;

const describeFault = (error: z.ZodError): string =>
  error.issues
    .map(({ path, message }) => (path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`))
    .join("; ");

const document = (version: string) => ({
  openapi: "3.1.0",
  info: {
    title: "opencode-taskchart status API",
    version,
    description: "Background tasks of OpenCode. Served on loopback; `server.json` in the data folder says where.",
  },
});

/** The status API as a server calls it. */
export interface StatusApp {
  answer: RequestHandler;
  /** Has everything that is under way answered now, with why there is nothing better. */
  giveUp(): void;
}

const givenUp = (): Response =>
  errorAnswer(503, "OpenCode ends before the answer is there. What was asked for may happen yet: look again.");

/** The status API: one handler for both runtimes. */
export const createApp = (parts: AppDeps): StatusApp => {
  const { log, version, admissions, token, isPasswordSet } = parts;
  const app: App = new OpenAPIHono<AppEnv>({
    defaultHook: (result) => {
      if (!result.success) throw new HTTPException(400, { message: describeFault(result.error) });
    },
  });
  app.openAPIRegistry.registerComponent("securitySchemes", "token", { type: "http", scheme: "bearer" });
  app.use(createReadGuard({ token, isPasswordSet, reads: admissions.reads }));
  registerReads(app, parts);
  registerCommands(app, parts);
  for (const { page, feed } of parts.live) registerLivePage(app, page, feed, log);
  app.get("/v1/openapi.json", (c) => c.json(app.getOpenAPI31Document(document(version))));

  for (const [path, methods] of routes.METHODS) {
    app.all(path, ({ req }) =>
      errorAnswer(405, `${quoted(req.method)} is not for ${quoted(req.path)}, which knows ${methods}.`, {
        Allow: methods,
      }),
    );
  }
  app.notFound(({ req }) => errorAnswer(404, `There is nothing at ${quoted(req.path)}.`));
  app.onError((error, { req }) => {
    if (error instanceof HTTPException) return errorAnswer(error.status, error.message);
    if (error instanceof SourceUnavailable) return errorAnswer(503, error.message);
    log.error("the status API could not answer", { path: req.path, reason: errorMessage(error) });
    return errorAnswer(500, "The status API could not answer; the reason is in the log of OpenCode.");
  });

  /** How each request that is under way can be answered from outside. */
  const underWay = new Set<(answer: Response) => void>();

  const answerOrGiveUp = (request: Request, connection: ClientConnection): Promise<Response> => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    underWay.add(resolve);
    Promise.resolve(app.fetch(request, { connection })).then(resolve, reject);
    return promise.finally(() => underWay.delete(resolve));
  };

  return {
    answer: async (request, connection) => {
      if (request.method === "OPTIONS") return preflight();
      const refusal = rejectionOf(request, admissions.origins());
      if (refusal) return errorAnswer(refusal.status, refusal.error);
      return withCors(await answerOrGiveUp(request, connection));
    },
    giveUp: () => {
      for (const resolve of underWay) resolve(givenUp());
    },
  };
};
