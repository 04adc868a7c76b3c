import { parseJson } from "../services/http/loopback-requests.ts";
import { toSingleLine } from "../services/platform/plain-text.ts";

/**
 * Why a request came to nothing:
 * - `notRunning`: no OpenCode serves the data folder: none has written `server.json`, or the one that did has ended
 * - `silent`: it has not answered in time, because it is stopped or busy; a change may still happen
 * - `refused`: it answered with an error
 * - `unreadable`: its answer is not what this version of the client understands
 */
export type ApiFailureKind = "notRunning" | "silent" | "refused" | "unreadable";

/** An expected failure of a request. */
export interface ApiFailure {
  ok: false;
  kind: ApiFailureKind;
  /** What was wrong and what to do, in one or two sentences on one line. It may repeat what the server said. */
  reason: string;
  /** The HTTP status of an answer with an error, as listed in docs/status-api.md. */
  status?: number;
}

/** What a request returned. Expected failures are values; the client throws nothing. */
export type ApiResult<T> = { ok: true; value: T } | ApiFailure;

/** Creates the result of a request that failed. */
export const apiFailure = (kind: ApiFailureKind, reason: string, status?: number): ApiFailure => ({
  ok: false,
  kind,
  reason,
  ...(status === undefined ? {} : { status }),
});

/** Creates the failure of an answer with an error: its body says in `error` what was wrong and what to do. */
export const refused = (status: number, text: string): ApiFailure => {
  const body = parseJson(text);
  const hasReason = typeof body === "object" && body !== null && "error" in body && typeof body.error === "string";
  return apiFailure(
    "refused",
    hasReason ? toSingleLine(String(body.error)) : `OpenCode answered with status ${status}.`,
    status,
  );
};
