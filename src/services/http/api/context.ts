import type { z } from "@hono/zod-openapi";
import { HTTPException } from "hono/http-exception";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { Admissions } from "../access/admission.ts";
import { quote } from "../access/request-handling.ts";
import type { AnnouncedServer } from "../contract/schemas.ts";
import type { SourceResult, StatusSource } from "../contract/status-source.ts";
import type { Broadcast } from "../events/broadcast.ts";
import type { Documents } from "../html-pages.ts";
import type { LivePage } from "../live.ts";
import type { WriteJson } from "./long-responses.ts";

/** What the handlers of requests work with. */
export interface ApiContext {
  source: StatusSource;
  feed: Broadcast;
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
  live: readonly { page: LivePage; feed: Broadcast }[];
  /** The board, and the description of the API; undefined: neither is served. */
  documents?: Documents | undefined;
}

/** The form of session ids. */
const ID = /^[\w-]{1,128}$/;

/** Ids that the error for an ambiguous beginning lists. */
const MAX_CANDIDATES = 5;

/** Returns the 404 for something that does not exist. */
export const notFoundError = (what: string, id: string): HTTPException =>
  new HTTPException(404, { message: `There is no ${what} ${quote(id)}.` });

/**
 * Returns a response body as it is, and logs an error when it does not have the promised shape. It is sent all the same: a
 * task that an older version stored is better shown in part than not at all.
 */
export const validated = <S extends z.ZodType>(log: Log, schema: S, value: z.output<S>): z.output<S> => {
  const parsed = schema.safeParse(value);
  if (!parsed.success) log.error("a response of the status API has the wrong shape", { reason: parsed.error.message });
  return value;
};

/**
 * Returns the id of the task that an id, or the beginning of one, means.
 * @throws a 404 when that is none, and a 409 when it is several
 */
export const resolveId = (source: StatusSource, given: string): string => {
  if (!ID.test(given)) throw notFoundError("task", given);
  if (source.has(given)) return given;
  const candidates = source.idsFrom(given, MAX_CANDIDATES + 1);
  const [id, ...others] = candidates;
  if (id === undefined) throw notFoundError("task", given);
  if (others.length === 0) return id;
  const listed = candidates.slice(0, MAX_CANDIDATES).join(", ");
  const more = candidates.length > MAX_CANDIDATES ? " and more" : "";
  throw new HTTPException(409, {
    message: `${quote(given)} begins the ids of several tasks: ${listed}${more}. Give more of it.`,
  });
};

const STATUS_BY_CAUSE = { task: 409, host: 502, late: 504 } as const;

/** Returns the value of a result. @throws the error of the API for a failure, whose message begins with `what` */
export const valueOrThrow = <T>(result: SourceResult<T>, what = ""): T => {
  if (result.ok) return result.value;
  throw new HTTPException(STATUS_BY_CAUSE[result.cause], { message: `${what}${result.reason}` });
};
