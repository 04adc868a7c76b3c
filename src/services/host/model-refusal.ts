// Only a refusal of the model itself makes another model worth asking (docs/decisions/160-when-a-model-is-left.md). An
// error that may pass, such as a locked database, interrupts the run instead, which then goes on by itself.
import { ABORTED } from "../../machines/host-events.ts";
import type { HostError } from "../../machines/task/events.ts";
import { CONTENT_FILTER_ERROR, type ModelRefusal } from "../../task.ts";
import { isRecord, readError } from "./sdk-client.ts";

const NO_MONEY = /credit|quota|billing|insufficient (?:balance|funds)/i;
const UNKNOWN_MODEL = /^(?:ProviderModelNotFoundError: )?Model not found\b/;
const NO_SUCH_MODEL = /\bmodel\b.*(?:not found|does not exist|not supported|unknown|invalid)/i;

/** Why an answer with that HTTP status refused the model. Some providers report a lack of money or an unknown model as 400. */
const refusalOfStatus = (status: number | undefined, message: string): ModelRefusal | undefined => {
  if (status === 402 || (status !== undefined && status < 500 && NO_MONEY.test(message))) return "quota";
  if (status === 401 || status === 403) return "auth";
  if (status === 404 || (status === 400 && NO_SUCH_MODEL.test(message))) return "unknownModel";
  return status === 408 || status === 429 || (status ?? 0) >= 500 ? "overloaded" : undefined;
};

/**
 * Returns why a model refused a request, if another model may take it. The host has tried again as often as it does when it
 * reports a rate limit or too much load as an error. All other failures, such as a context that is too long, lie in the
 * request.
 */
const refusalOf = (error: unknown, { name, message }: HostError): ModelRefusal | undefined => {
  if (name === "ProviderAuthError") return "auth";
  if (name === "UnknownError") return UNKNOWN_MODEL.test(message) ? "unknownModel" : undefined;
  if (name !== "APIError") return undefined;
  const data = isRecord(error) && isRecord(error.data) ? error.data : {};
  const status = typeof data.statusCode === "number" ? data.statusCode : undefined;
  return refusalOfStatus(status, message) ?? (data.isRetryable === true ? "overloaded" : undefined);
};

/** Errors that say what is wrong with a request or its model: made again, it fails again. */
const OF_REQUEST: readonly string[] = [
  ABORTED,
  "ProviderAuthError",
  "APIError",
  "ContextOverflowError",
  CONTENT_FILTER_ERROR,
  "MessageOutputLengthError",
  "StructuredOutputError",
];

/** What the configuration lacks. */
const NOT_CONFIGURED = /^(?:Agent|Command|Model) not found\b/;

/** What OpenCode says when it cannot use its database or a disk. */
const OF_STORAGE = /\b(?:failed to execute statement|database|SQLITE_\w+|sqlerror|disk|ENOSPC|EIO|EMFILE|ENFILE)\b/i;

/** Returns whether an error is a fault of the host itself, or of a kind that is not known; undefined for all others. */
const faultOf = ({ name, message }: HostError): HostError["fault"] => {
  if (OF_REQUEST.includes(name) || NOT_CONFIGURED.test(message)) return undefined;
  return OF_STORAGE.test(message) ? "host" : "unknown";
};

/** Reads the error of a model's request. */
export const readModelError = (error: unknown): HostError => {
  const read = readError(error);
  const refusal = refusalOf(error, read);
  if (refusal) return { ...read, refusal };
  const fault = faultOf(read);
  return fault ? { ...read, fault } : read;
};
