import { OpenAPIHono, type z } from "@hono/zod-openapi";
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import { methodNotAllowed } from "hono/method-not-allowed";
import { errorMessage } from "../../platform/log.ts";
import { createReadGuard, rejectionOf } from "../access/admission.ts";
import {
  type App,
  type AppEnv,
  type ClientConnection,
  errorResponse,
  preflightResponse,
  quote,
  refusalResponse,
  withCommonHeaders,
} from "../access/request-handling.ts";
import { SourceUnavailable } from "../contract/api-task.ts";
import { registerLivePage, registerPages } from "../pages.ts";
import { type ApiContext, registerCommandRoutes, registerReadRoutes } from "./route-handlers.ts";
import { openApiDocument, routes } from "./routes.ts";

const describeFault = (error: z.ZodError): string =>
  error.issues
    .map(({ path, message }) => (path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`))
    .join("; ");

const shuttingDown = (): Response =>
  errorResponse(
    503,
    "OpenCode is shutting down before the response is ready. A change may still happen: check the task.",
  );

/** Creates the status API, for both runtimes: `handle` responds to a request. */
export const createApp = (context: ApiContext) => {
  const { log, version, admissions, token, isPasswordSet } = context;
  const app: App = new OpenAPIHono<AppEnv>({
    defaultHook: (result) => {
      if (!result.success) throw new HTTPException(400, { message: describeFault(result.error) });
    },
  });
  const onMethodNotAllowed = ({ req }: Context, methods: string[]) => {
    // A stream has no HEAD.
    const supported = methods.filter((method) => method !== "HEAD" || req.path !== routes.events.path);
    const allow = [...supported, "OPTIONS"].join(", ");
    const error = `${quote(req.method)} is not supported by ${quote(req.path)}, which supports ${allow}.`;
    return errorResponse(405, error, { Allow: allow });
  };
  app.use(methodNotAllowed({ app, onMethodNotAllowed }));
  app.use(createReadGuard({ token, isPasswordSet, reads: admissions.reads }));
  registerReadRoutes(app, context);
  registerCommandRoutes(app, context);
  for (const { page, feed } of context.live) registerLivePage(app, page, feed, context);
  app.get("/v1/openapi.json", (c) => c.json(openApiDocument(version)));
  const liveView = () => context.live.find(({ page }) => page.path === "/inspect" && page.source.isOn())?.page.path;
  if (context.documents) registerPages(app, context.documents, liveView, context);
  app.notFound(({ req }) => errorResponse(404, `There is nothing at ${quote(req.path)}.`));
  app.onError((error, { req }) => {
    if (error instanceof HTTPException) return errorResponse(error.status, error.message);
    if (error instanceof SourceUnavailable) return errorResponse(503, error.message);
    log.error("the status API failed to handle a request", { path: req.path, reason: errorMessage(error) });
    return errorResponse(500, "The status API failed to handle the request; OpenCode's log says why.");
  });

  /** For each pending request, a function that responds to it. */
  const pending = new Set<(response: Response) => void>();

  const fetchOrAbort = (request: Request, connection: ClientConnection): Promise<Response> => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    pending.add(resolve);
    Promise.resolve(app.fetch(request, { connection })).then(resolve, reject);
    return promise.finally(() => pending.delete(resolve));
  };

  return {
    handle: async (request: Request, connection: ClientConnection): Promise<Response> => {
      const rejection = rejectionOf(request, admissions.origins());
      if (request.method === "OPTIONS") return preflightResponse(rejection === undefined);
      if (rejection?.status === 403) return refusalResponse(403, rejection.error);
      if (rejection) return errorResponse(rejection.status, rejection.error);
      return withCommonHeaders(await fetchOrAbort(request, connection));
    },
    /** Responds to all pending requests now, with the error that OpenCode is shutting down. */
    abortPending: () => {
      for (const respond of pending) respond(shuttingDown());
    },
  };
};
