// ADR-160 in docs/decisions.md
import type { HostError } from "../../machines/task/events.ts";
import type { ModelRefusal } from "../../task.ts";
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
 * Says why a model refused a request, if another model may take it. The host has tried again as often as it does when it
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

/** Reads the error of a model's request. */
export const readModelError = (error: unknown): HostError => {
  const read = readError(error);
  const refusal = refusalOf(error, read);
  return refusal ? { ...read, refusal } : read;
};
