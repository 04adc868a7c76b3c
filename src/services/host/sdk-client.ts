import type { PluginInput } from "@opencode-ai/plugin";
import { createOpencodeClient, type OpencodeClient } from "@opencode-ai/sdk/v2/client";
import { systemClock } from "../platform/clock.ts";
import { errorMessage } from "../platform/log.ts";
import type { HostFailure, HostResult } from "./host.ts";

/** Milliseconds after which a call counts as unanswered. No call waits for a model. */
const CALL_TIMEOUT_MS = 15_000;

/**
 * Milliseconds allowed for creating a session. The host finishes a creation even after the caller gave up on it, so
 * waiting longer is cheaper than searching for the session. Of 150 sessions requested at once, 22 took longer than 15 s
 * (measured).
 */
export const CREATE_TIMEOUT_MS = 60_000;

/**
 * Milliseconds allowed for a fork, which copies the conversation part by part at 3 to 7 ms each (measured: 500 parts took
 * 2.4 to 3.4 s, 2,200 to 3,100 parts over 15 s). This is enough for about 40,000 parts, and it is also the longest that
 * Node's `fetch` waits for a response.
 */
export const FORK_TIMEOUT_MS = 300_000;

/**
 * Milliseconds allowed for the lists of agents and models, which all launches of a process wait for together. Where a
 * process begins with 300 launches on a busy machine, that of the agents took longer than 15 s (measured).
 */
export const LIST_TIMEOUT_MS = 60_000;

/**
 * A timeout passes in so many steps. Of a time in which this process could not run, because it was busy or the machine
 * slept, no more than one step counts: the answer may have come meanwhile, and nobody could take it.
 */
const STEPS = 15;

/** Calls `fire` after `ms` milliseconds in which this process could run. Returns a function that cancels it. */
const afterAwake = (ms: number, fire: () => void): (() => void) => {
  let left = STEPS;
  let cancel: () => void = () => undefined;
  const step = () => {
    if (left === 0) return fire();
    left -= 1;
    cancel = systemClock.after(ms / STEPS, step);
  };
  step();
  return () => cancel();
};

/** What every method of the SDK resolves to. */
interface SdkResponse<T> {
  data?: T | undefined;
  error?: unknown;
  response?: { status: number } | undefined;
}

/** True for any object, with fields of any kind. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

const firstText = (...values: unknown[]): string | undefined =>
  values.find((value): value is string => typeof value === "string" && value !== "");

/** Reads an error of the host, which has the form `{ name, data: { message } }`, `{ _tag, message }` or any other. */
export const readError = (error: unknown): { name: string; message: string } => {
  if (!isRecord(error)) return { name: "UnknownError", message: String(error ?? "no details were given") };
  const inner = isRecord(error.data) ? error.data.message : undefined;
  return {
    name: firstText(error.name, error._tag) ?? "UnknownError",
    message: firstText(inner, error.message) ?? JSON.stringify(error),
  };
};

/** True when the same call may succeed later: the host timed out, limits the rate or has a fault of its own. */
const isTemporary = (status: number | undefined): boolean =>
  status === undefined || status >= 500 || status === 408 || status === 429;

const failureOf = (error: unknown, status: number | undefined): HostFailure => ({
  kind: status === 404 ? "notFound" : isTemporary(status) ? "unavailable" : "refused",
  ...readError(error),
});

/** The options of a call of the SDK. */
export interface CallOptions {
  signal: AbortSignal;
}

/** Calls the SDK and returns a result: an `{ error }` response, an exception and a timeout all become failures. */
const callSdk = async <T>(
  call: (options: CallOptions) => Promise<SdkResponse<T>>,
  timeoutMs: number,
): Promise<HostResult<T | undefined>> => {
  const timeout = new AbortController();
  const timedOut = Promise.withResolvers<never>();
  const cancelTimer = afterAwake(timeoutMs, () => {
    timedOut.reject(new Error(`no answer within ${timeoutMs} ms`));
    timeout.abort();
  });
  try {
    const { data, error, response } = await Promise.race([call({ signal: timeout.signal }), timedOut.promise]);
    if (error === undefined) return { ok: true, value: data };
    return { ok: false, failure: failureOf(error, response?.status) };
  } catch (error) {
    return { ok: false, failure: { kind: "unavailable", name: "Unreachable", message: errorMessage(error) } };
  } finally {
    // Not left to fire: until then it would keep the memory of the call.
    cancelTimer();
  }
};

/** Makes a call of the SDK whose answer does not matter. */
export const perform = async (
  call: (options: CallOptions) => Promise<SdkResponse<unknown>>,
): Promise<HostResult<void>> => {
  const result = await callSdk(call, CALL_TIMEOUT_MS);
  return result.ok ? { ok: true, value: undefined } : result;
};

/** Makes a call of the SDK, and converts what it answers. An empty answer is a failure. */
export const read = async <T, U>(
  call: (options: CallOptions) => Promise<SdkResponse<T>>,
  to: (value: T) => U,
  timeoutMs = CALL_TIMEOUT_MS,
): Promise<HostResult<U>> => {
  const result = await callSdk(call, timeoutMs);
  if (!result.ok) return result;
  if (result.value !== undefined) return { ok: true, value: to(result.value) };
  return {
    ok: false,
    failure: { kind: "unavailable", name: "EmptyResponse", message: "OpenCode sent an empty response" },
  };
};

/**
 * Creates a client of the whole API. OpenCode hands plugins an older client, which lacks permissions and questions and
 * throws on network errors. The new client takes over its base URL, headers and `fetch`, which calls the host in-process
 * where no server listens.
 * @throws Error when the configuration of the plugin's client cannot be read.
 */
export const connect = ({ client, directory }: Pick<PluginInput, "client" | "directory">): OpencodeClient => {
  const inner: unknown = Reflect.get(client, "_client");
  const getConfig: unknown = isRecord(inner) ? inner.getConfig : undefined;
  if (typeof getConfig !== "function") {
    throw new Error("The client that OpenCode hands to plugins has no configuration. Is this version supported?");
  }
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
