import { expect, test } from "vitest";
import { readModelError } from "../../../src/services/host/opencode-messages.ts";

const api = (statusCode: number | undefined, message = "no", isRetryable = false) => ({
  name: "APIError",
  data: { message, isRetryable, ...(statusCode === undefined ? {} : { statusCode }) },
});
const unknown = (message: string) => ({ name: "UnknownError", data: { message } });

test.each([
  [api(401), "auth"],
  [api(403), "auth"],
  [{ name: "ProviderAuthError", data: { providerID: "p", message: "no key" } }, "auth"],
  [api(402), "quota"],
  [api(400, "Your credit balance is too low to access the API"), "quota"],
  [api(429, "You exceeded your current quota, please check your plan"), "quota"],
  [api(404), "unknownModel"],
  [api(400, "The model `m9` does not exist"), "unknownModel"],
  [unknown("Model not found: p/m9."), "unknownModel"],
  [unknown("ProviderModelNotFoundError: Model not found: p/m9.\n    at <anonymous>"), "unknownModel"],
  [api(429), "overloaded"],
  [api(529, "Overloaded", true), "overloaded"],
  [api(500, "billing is down", true), "overloaded"],
  [api(undefined, "connection refused", true), "overloaded"],
])("%j is a refusal: %s", (error, refusal) => {
  expect(readModelError(error).refusal).toBe(refusal);
});

test.each([
  [unknown("Failed to execute statement"), "host"],
  [unknown("database is locked"), "host"],
  [unknown("SQLITE_FULL: database or disk is full"), "host"],
  [unknown("ENOSPC: no space left on device, write"), "host"],
  [unknown("undefined is not an object"), "unknown"],
  [{ name: "SomethingNew", data: { message: "who knows" } }, "unknown"],
  ["quota", "unknown"],
])("%j may pass: it is a fault, %s", (error, fault) => {
  expect(readModelError(error)).toMatchObject({ fault });
});

test.each([
  [api(500, "the database of the provider is down", true)],
  [{ name: "ContextOverflowError", data: { message: "prompt is too long" } }],
  [{ name: "MessageAbortedError", data: { message: "Aborted" } }],
  [{ name: "ContentFilterError", data: { message: "blocked" } }],
  [unknown('Agent not found: "nobody". Available agents: build')],
  [unknown("Model not found: p/m9.")],
])("%j is no fault: it says what is wrong with the request", (error) => {
  expect(readModelError(error)).not.toHaveProperty("fault");
});

test.each([
  [api(400, "messages: too many")],
  [api(undefined)],
  [{ name: "ContextOverflowError", data: { message: "prompt is too long" } }],
  [{ name: "MessageAbortedError", data: { message: "Aborted" } }],
  [unknown("agent not found")],
  [undefined],
  ["quota"],
])("%j is none: another model would not help, or nobody knows", (error) => {
  expect(readModelError(error)).not.toHaveProperty("refusal");
});
