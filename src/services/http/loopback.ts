import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { isProof, newChallenge } from "../platform/server-key.ts";

/** The address that the server is bound to: only programs of this machine can reach it. */
export const LOOPBACK = "127.0.0.1";

/** The first port that a server tries, unless the environment names another one. */
export const DEFAULT_PORT = 5_165;

/** False when the environment switches the server off. */
export const isEnabled = (env: Readonly<Record<string, string | undefined>>): boolean =>
  env.ASYNCAGENTS_API_ENABLED?.trim().toLowerCase() !== "false";

const HOST = "(?:localhost|127\\.0\\.0\\.1|\\[::1\\])(?::\\d{1,5})?";
const LOOPBACK_HOST = new RegExp(`^${HOST}$`, "i");
const LOOPBACK_ORIGIN = new RegExp(`^https?://${HOST}$`, "i");

/** True for the host of a URL or a `Host` header that means this machine, with or without a port. */
export const isLoopback = (host: string): boolean => LOOPBACK_HOST.test(host);

/** True for the origin of a page that this machine serves. */
export const isLoopbackOrigin = (origin: string): boolean => LOOPBACK_ORIGIN.test(origin);

/** Where a request goes, and with which right. */
interface Destination {
  port: number;
  /** Absent: the request is sent without it. */
  token?: string | undefined;
}

export interface ApiRequest {
  method: "GET" | "POST";
  /** With its query. */
  path: string;
  /** Sent as JSON. */
  body?: unknown;
}

/**
 * Opens a request. It is made with `node:http`, which asks no proxy on either runtime; `fetch` sends requests for this
 * machine, and their token, to the proxy that the environment names.
 */
const open = ({ port, token }: Destination, { method, path, body }: ApiRequest): ClientRequest => {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(text === undefined
      ? {}
      : { "content-type": "application/json", "content-length": String(Buffer.byteLength(text)) }),
  };
  // The URL in `server.json` is not followed: it could name another machine.
  // Without an agent the connection is closed after the answer, and keeps no process alive.
  const opened = request({ host: LOOPBACK, port, method, path, headers, agent: false });
  opened.end(text);
  return opened;
};

interface ApiResponse {
  status: number;
  text: string;
}

/**
 * Why there is no answer:
 * - `unreachable`: nothing listens there, so nothing was done
 * - `broken`: the connection broke before the answer was whole
 * - `silent`: the time was up
 */
export type NoAnswer = "unreachable" | "broken" | "silent";

const reasonOf = (error: Error): NoAnswer =>
  "code" in error && error.code === "ECONNREFUSED" ? "unreachable" : "broken";

/**
 * Sends a request once and reads the whole answer, within `timeoutMs` milliseconds. A longer one than `maxChars` counts as
 * broken; default: any length.
 */
export const send = (
  to: Destination,
  what: ApiRequest,
  timeoutMs: number,
  maxChars = Number.POSITIVE_INFINITY,
): Promise<ApiResponse | NoAnswer> =>
  new Promise((resolve) => {
    const opened = open(to, what);
    const end = (result: ApiResponse | NoAnswer) => {
      clearTimeout(timer);
      resolve(result);
      opened.destroy();
    };
    const timer = setTimeout(() => end("silent"), timeoutMs);
    opened.on("error", (error) => end(reasonOf(error)));
    opened.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part: string) => {
        text += part;
        if (text.length > maxChars) end("broken");
      });
      response.on("error", () => end("broken"));
      response.on("close", () => end(response.complete ? { status: response.statusCode ?? 0, text } : "broken"));
    });
  });

/** Characters of an answer of `/v1/health` that are read at most: another program may listen at that port. */
const MAX_HEALTH_CHARS = 10_000;

/**
 * Asks what listens at a port whether it is the server of that process, with a challenge and nothing else: the system assigns
 * ports and process ids again. Resolves to what it answers of itself, `silent` where it does not answer within `timeoutMs`, and
 * undefined where it does not prove with the key of the data folder that it is that one.
 */
export const askServer = async (
  { port, pid, startedAt }: { port: number; pid: number; startedAt: string },
  key: string | undefined,
  timeoutMs: number,
): Promise<Readonly<Record<string, unknown>> | "silent" | undefined> => {
  const challenge = { port, challenge: newChallenge() };
  const what = { method: "GET", path: `/v1/health?challenge=${challenge.challenge}` } as const;
  // Without the token: who listens there is not known yet.
  const answer = await send({ port }, what, timeoutMs, MAX_HEALTH_CHARS);
  if (answer === "silent") return answer;
  const body = typeof answer === "string" ? undefined : parseJson(answer.text);
  if (typeof body !== "object" || body === null || key === undefined) return undefined;
  const health: Readonly<Record<string, unknown>> = { ...body };
  return health.pid === pid && health.startedAt === startedAt && isProof(health.proof, key, challenge)
    ? health
    : undefined;
};

/** An answer that goes on until one side ends it. */
interface OpenStream {
  status: number;
  /** The parts of the text as they come. It ends when the stream does, also when that breaks or falls silent. */
  parts: AsyncIterable<string>;
}

/**
 * Requests a stream. It ends when nothing has come for `silenceMs` milliseconds, and when `signal` is aborted. Resolves to
 * a reason when it has not begun within `timeoutMs`.
 */
export const openStream = (
  to: Destination,
  path: string,
  { timeoutMs, silenceMs, signal }: { timeoutMs: number; silenceMs: number; signal: AbortSignal },
): Promise<OpenStream | NoAnswer> =>
  new Promise((resolve) => {
    const opened = open(to, { method: "GET", path });
    const abort = () => opened.destroy();
    signal.addEventListener("abort", abort, { once: true });
    const close = () => {
      signal.removeEventListener("abort", abort);
      opened.destroy();
    };
    const end = (reason: NoAnswer) => {
      clearTimeout(timer);
      close();
      resolve(reason);
    };
    const timer = setTimeout(() => end("silent"), timeoutMs);
    opened.on("error", (error) => end(reasonOf(error)));
    opened.on("response", (response) => {
      clearTimeout(timer);
      resolve({ status: response.statusCode ?? 0, parts: partsOf(response, silenceMs, close) });
    });
  });

async function* partsOf(response: IncomingMessage, silenceMs: number, close: () => void): AsyncGenerator<string> {
  response.setEncoding("utf8");
  let timer = setTimeout(close, silenceMs);
  try {
    for await (const part of response) {
      clearTimeout(timer);
      timer = setTimeout(close, silenceMs);
      yield String(part);
    }
  } catch {
    // A connection that breaks ends the stream; its reader connects again.
  } finally {
    clearTimeout(timer);
    close();
  }
}

/** Parses JSON; undefined when it is none. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
