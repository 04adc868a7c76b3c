/** Returns what a request failed with: the client of NATS wraps some errors, such as that it is not permitted. */
export const causeOf = (error: unknown): unknown =>
  error instanceof Error && error.name === "RequestError" && error.cause !== undefined ? error.cause : error;
