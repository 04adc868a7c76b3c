import { OpenAPIHono } from "@hono/zod-openapi";
import { routes } from "./routes.ts";

/** Returns the API's description of itself in that version of the plugin. It is made of the routes alone. */
export const openApiDocument = (version: string) => {
  const app = new OpenAPIHono();
  app.openAPIRegistry.registerComponent("securitySchemes", "token", { type: "http", scheme: "bearer" });
  for (const route of Object.values(routes)) app.openAPIRegistry.registerPath(route);
  return app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "opencode-taskchart status API",
      version,
      description:
        "Background tasks of OpenCode. Served on loopback, at the address in `server.json` of the data folder.",
    },
  });
};
