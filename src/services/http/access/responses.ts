/**
 * The CORS headers that the specification asks for on every response. They let a page read a response that it is given;
 * `rejectionOf` and the read guard decide whether it is given one.
 */
export const CORS_HEADERS: Readonly<Record<string, string>> = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Methods": "GET, OPTIONS",
  "Access-Control-Allow-Headers": "Content-Type",
};

/** Tasks are private and change all the time, so nothing is cached; and no response is to be taken for a page. */
const COMMON_HEADERS: Readonly<Record<string, string>> = {
  ...CORS_HEADERS,
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff",
};

/** Sets the headers that every response has, and returns the response. */
export const withCommonHeaders = (response: Response): Response => {
  for (const [name, value] of Object.entries(COMMON_HEADERS)) response.headers.set(name, value);
  return response;
};

/** Returns the response to any OPTIONS request. */
export const preflightResponse = (): Response => withCommonHeaders(new Response(null, { status: 204 }));

/** Returns an error in the form that every route uses: `{ error, status }`. */
export const errorResponse = (status: number, error: string, headers: Record<string, string> = {}): Response =>
  withCommonHeaders(Response.json({ error, status }, { status, headers }));

/** Characters of a request's value that an error message repeats at most. */
const QUOTE_CHARS = 80;

/** Quotes a value of a request for an error message, shortened. */
export const quote = (value: string): string =>
  JSON.stringify(value.length > QUOTE_CHARS ? `${value.slice(0, QUOTE_CHARS)}…` : value);
