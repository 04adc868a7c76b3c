import type { z } from "@hono/zod-openapi";
import { HTTPException } from "hono/http-exception";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { Admissions } from "../access/admission.ts";
import { quote } from "../access/request-handling.ts";
import type { AnnouncedServer } from "../contract/schemas.ts";
import type { SourceFailure, StatusSource } from "../contract/status-source.ts";
import type { Documents } from "../document.ts";
import type { TaskFeed } from "../events/task-feed.ts";
import type { LiveFeed, LivePage } from "../live.ts";
import type { WriteJson } from "./long-responses.ts";

/** What the application is built from. */
export interface AppDeps {
  source: StatusSource;
  feed: TaskFeed;
  clock: Clock;
  log: Log;
  version: string;
  /** This server, as other processes identify it. */
  own: { pid: number; startedAt: string };
  /** Answers a challenge. May throw. */
  prove(challenge: string): string;
  /** Returns the servers of all processes, this one among them, each with a challenge and what it will answer to that. May throw. */
  servers(): Omit<AnnouncedServer, "isThis">[];
  /** Writes responses that may be long. */
  writeJson: WriteJson;
  /** Required for everything that changes a task. */
  token: string;
  admissions: Admissions;
  /** True when OpenCode's own server requires a password. */
  isPasswordSet: boolean;
  /** The pages of the live view, each with its feed. */
  live: readonly { page: LivePage; feed: LiveFeed }[];
  /** The board, and the description of the API; undefined: neither is served. */
  documents?: Documents | undefined;
}

/** The form of session ids. */
const ID = /^[\w-]{1,128}$/;

/** Ids that the error for an ambiguous beginning lists. */
const MAX_CANDIDATES = 5;

/** Returns the 404 for something that does not exist. */
export const notFound = (what: string, id: string): HTTPException =>
  new HTTPException(404, { message: `There is no ${what} ${quote(id)}.` });

/**
 * Creates a function that returns a response body as it is, and logs an error when it does not have the promised shape.
 * It is sent all the same: a task that an older version stored is better shown in part than not at all.
 */
export const responseValidator =
  (log: Log) =>
  <S extends z.ZodType>(schema: S, value: z.output<S>): z.output<S> => {
    const parsed = schema.safeParse(value);
    if (!parsed.success)
      log.error("a response of the status API has the wrong shape", { reason: parsed.error.message });
    return value;
  };

/**
 * Creates a function that returns the id of the task that an id, or the beginning of one, means. It throws a 404 when
 * that is none, and a 409 when it is several.
 */
export const idResolver =
  (source: StatusSource) =>
  (given: string): string => {
    if (!ID.test(given)) throw notFound("task", given);
    if (source.has(given)) return given;
    const candidates = source.idsFrom(given, MAX_CANDIDATES + 1);
    const [id, ...others] = candidates;
    if (id === undefined) throw notFound("task", given);
    if (others.length === 0) return id;
    const listed = candidates.slice(0, MAX_CANDIDATES).join(", ");
    const more = candidates.length > MAX_CANDIDATES ? " and more" : "";
    throw new HTTPException(409, {
      message: `${quote(given)} begins the ids of several tasks: ${listed}${more}. Give more of it.`,
    });
  };

const STATUS_BY_CAUSE = { task: 409, host: 502, late: 504 } as const;

/** Returns the error of the API for a failure of the source. */
export const sourceError = ({ reason, cause }: SourceFailure): HTTPException =>
  new HTTPException(STATUS_BY_CAUSE[cause], { message: reason });
