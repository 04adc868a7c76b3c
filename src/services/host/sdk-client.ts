import type { PluginInput } from "@opencode-ai/plugin";
import { createOpencodeClient, type OpencodeClient } from "@opencode-ai/sdk/v2/client";
import { errorMessage } from "../platform/log.ts";
import type { HostFailure, HostResult } from "./host.ts";

/** A call that takes longer counts as unanswered, in milliseconds. None of them waits for a model. */
const CALL_TIMEOUT = 15_000;

/**
 * The same for making a session: what has no answer in time is made all the same, so waiting longer is cheaper than
 * finding out. Of 150 that were asked for at once, 22 took longer than 15 s.
 */
export const CREATE_TIMEOUT = 60_000;

/**
 * The same for a fork, which copies the conversation part by part: 3 to 7 ms for each (500 parts took 2.4 to 3.4 s, and
 * 2,200 to 3,100 over 15 s), so this is enough for some 40,000. Node's `fetch` waits no longer for an answer either.
 */
export const FORK_TIMEOUT = 300_000;

interface SdkResponse<T> {
  data?: T | undefined;
  error?: unknown;
  response?: { status: number } | undefined;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

const firstText = (...values: unknown[]): string | undefined =>
  values.find((value): value is string => typeof value === "string" && value !== "");

/** Reads an error of the host. They come as `{ name, data: { message } }`, as `{ _tag, message }`, or as anything else. */
export const readError = (error: unknown): { name: string; message: string } => {
  if (!isRecord(error)) return { name: "UnknownError", message: String(error ?? "no details were given") };
  const inner = isRecord(error.data) ? error.data.message : undefined;
  return {
    name: firstText(error.name, error._tag) ?? "UnknownError",
    message: firstText(inner, error.message) ?? JSON.stringify(error),
  };
};

/** Too early, too much, or a fault of the host's own: the same call may succeed later. */
const isPassing = (status: number | undefined): boolean =>
  status === undefined || status >= 500 || status === 408 || status === 429;

const failureOf = (error: unknown, status: number | undefined): HostFailure => ({
  kind: status === 404 ? "notFound" : isPassing(status) ? "unavailable" : "refused",
  ...readError(error),
});

/** Turns a client call into a result: `{ error }` answers, throws and silence all become failures with a name. */
export const callSdk = async <T>(
  call: (signal: AbortSignal) => Promise<SdkResponse<T>>,
  limit = CALL_TIMEOUT,
): Promise<HostResult<T | undefined>> => {
  const timeout = AbortSignal.timeout(limit);
  const silence = new Promise<never>((_, reject) => {
    timeout.addEventListener("abort", () => reject(new Error(`no answer within ${limit} ms`)));
  });
  try {
    const { data, error, response } = await Promise.race([call(timeout), silence]);
    if (error === undefined) return { ok: true, value: data };
    return { ok: false, failure: failureOf(error, response?.status) };
  } catch (error) {
    return { ok: false, failure: { kind: "unavailable", name: "Unreachable", message: errorMessage(error) } };
  }
};

export const mapResult = <T, U>(result: HostResult<T | undefined>, to: (value: T) => U): HostResult<U> => {
  if (!result.ok) return result;
  if (result.value !== undefined) return { ok: true, value: to(result.value) };
  return {
    ok: false,
    failure: { kind: "unavailable", name: "EmptyAnswer", message: "OpenCode answered with nothing" },
  };
};

export const withoutValue = (result: HostResult<unknown>): HostResult<void> =>
  result.ok ? { ok: true, value: undefined } : result;

/**
 * A client of the whole API. The plugin is handed an older one, which lacks permissions and questions and throws on
 * network errors; but its way to the host, in-process where there is no listener, serves both.
 * @throws Error when the plugin's client has no configuration to take over.
 */
export const connect = ({ client, directory }: Pick<PluginInput, "client" | "directory">): OpencodeClient => {
  const inner: unknown = Reflect.get(client, "_client");
  const getConfig: unknown = isRecord(inner) ? inner.getConfig : undefined;
  if (typeof getConfig !== "function")
    throw new Error("OpenCode's client has no configuration: is its version supported?");
  const { baseUrl, fetch, headers } = getConfig.call(inner) as {
    baseUrl: string;
    fetch?: typeof globalThis.fetch;
    headers?: Headers;
  };
  return createOpencodeClient({
    baseUrl,
    directory,
    ...(fetch ? { fetch } : {}),
    headers: Object.fromEntries(headers?.entries() ?? []),
  });
};
