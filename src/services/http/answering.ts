import type { OpenAPIHono, z } from "@hono/zod-openapi";
import { HTTPException } from "hono/http-exception";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import { quoted } from "./access.ts";
import type { Feed } from "./feed.ts";
import type { LivePage } from "./inspection/pages.ts";
import type { WatchFeed } from "./inspection/watch-feed.ts";
import type { StatusSource } from "./source.ts";
import type { Connection } from "./subscriber.ts";

/** What an answer needs beside its request. */
export interface AppEnv {
  Bindings: { connection: Connection };
}

/** What the routes are registered on. */
export type App = OpenAPIHono<AppEnv>;

export interface AppParts {
  source: StatusSource;
  feed: Feed;
  clock: Clock;
  log: Log;
  version: string;
  /** What is asked of those who change something. */
  token: string;
  /** Pages that may ask beside those of this machine. */
  allowedOrigins: readonly string[];
  /** Pages that are served beside the API, with what feeds them. */
  live: readonly { page: LivePage; feed: WatchFeed }[];
}

/** Ids of sessions and names of charts; what has another form exists nowhere. */
const ID = /^[\w-]{1,128}$/;

/** The id, when it has the form of one. */
export const readId = (id: string): string | undefined => (ID.test(id) ? id : undefined);

/** There is no such thing. */
export const notFound = (what: string, id: string): HTTPException =>
  new HTTPException(404, { message: `There is no ${what} ${quoted(id)}.` });

/** The answer as it is, after a look whether it has the shape that the API promises; when not, that is logged. */
export const checker =
  (log: Log) =>
  <S extends z.ZodType>(schema: S, value: z.output<S>): z.output<S> => {
    const read = schema.safeParse(value);
    // Shown all the same: a task that an older version stored is better shown in part than not at all.
    if (!read.success) log.error("the status API gave an answer of the wrong shape", { reason: read.error.message });
    return value;
  };
