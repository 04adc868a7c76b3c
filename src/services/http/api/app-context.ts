import type { OpenAPIHono, z } from "@hono/zod-openapi";
import { HTTPException } from "hono/http-exception";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { Admissions } from "../access/admission.ts";
import { quoted } from "../access/request-check.ts";
import type { NotDone, StatusSource } from "../contract/status-source.ts";
import type { ClientConnection } from "../events/sse-stream.ts";
import type { TaskFeed } from "../events/task-feed.ts";
import type { LiveFeed } from "../live/feed.ts";
import type { LivePage } from "../live/pages.ts";
import type { WriteJson } from "./long-responses.ts";

/** What an answer needs beside its request. */
export interface AppEnv {
  Bindings: { connection: ClientConnection };
}

/** What the routes are registered on. */
export type App = OpenAPIHono<AppEnv>;

export interface AppDeps {
  source: StatusSource;
  feed: TaskFeed;
  clock: Clock;
  log: Log;
  version: string;
  /** As other processes know the server. */
  own: { pid: number; startedAt: string };
  /** Writes what may be long. */
  writeJson: WriteJson;
  /** What is asked of those who change something. */
  token: string;
  /** Whom the open directories let read. */
  admissions: Admissions;
  /** OpenCode's own server asks for a password. */
  isPasswordSet: boolean;
  /** Pages that are served beside the API, with what feeds them. */
  live: readonly { page: LivePage; feed: LiveFeed }[];
}

/** Ids of sessions; what has another form exists nowhere. */
const ID = /^[\w-]{1,128}$/;

/** Ids that are named when the beginning of one is that of several. */
const CANDIDATES = 5;

/** There is no such thing. */
export const notFound = (what: string, id: string): HTTPException =>
  new HTTPException(404, { message: `There is no ${what} ${quoted(id)}.` });

/** The answer as it is, after a look whether it has the shape that the API promises; when not, that is logged. */
export const responseValidator =
  (log: Log) =>
  <S extends z.ZodType>(schema: S, value: z.output<S>): z.output<S> => {
    const read = schema.safeParse(value);
    // Shown all the same: a task that an older version stored is better shown in part than not at all.
    if (!read.success) log.error("the status API gave an answer of the wrong shape", { reason: read.error.message });
    return value;
  };

/** The id of the task that an id, or the beginning of one, means. Throws a 404 when it means none, a 409 when several. */
export const idFinder =
  (source: StatusSource) =>
  (given: string): string => {
    if (!ID.test(given)) throw notFound("task", given);
    if (source.has(given)) return given;
    const found = source.idsFrom(given, CANDIDATES + 1);
    const [id, ...others] = found;
    if (id === undefined) throw notFound("task", given);
    if (others.length === 0) return id;
    const named = found.slice(0, CANDIDATES).join(", ");
    const more = found.length > CANDIDATES ? " and more" : "";
    throw new HTTPException(409, {
      message: `${quoted(given)} begins the ids of several tasks: ${named}${more}. Give more of it.`,
    });
  };

/** By what it lies with that something was not done. */
const STATUS = { task: 409, host: 502, late: 504 } as const;

/** Why something was not done, as an error of the API. */
export const notDone = ({ reason, liesWith }: NotDone): HTTPException =>
  new HTTPException(STATUS[liesWith], { message: reason });
